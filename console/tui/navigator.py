"""Shows one view at a time: creates views, keeps each with its cursor, and goes back and forth between them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from textual.containers import Container

from console.model import changes, codes
from console.model.acl import Acl
from console.model.config import ConfigResource, topic_resource
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.tui import keymap, places
from console.tui.panes.view import View
from console.tui.reading import start


class Navigator:
    """The current place and its view.

    A view is created when its place is first shown, and kept with its cursor and filter.
    """

    def __init__(
        self,
        first: places.Place,
        make_view: Callable[[str], View],
        body: Container,
        leaving: Callable[[places.Place, places.Place], None],
        arrived: Callable[[], None],
    ) -> None:
        """Create the navigator; `show` shows the first place.

        Args:
            make_view: returns a new view by name.
            body: container of the views.
            leaving: called before another place is shown, with the old and the new place.
            arrived: called when another place is shown; writes the lines around the view, and reads for it.
        """
        self._make_view, self._body = make_view, body
        self._leaving, self._arrived = leaving, arrived
        self.stack = places.BackStack(first)
        self._section = keymap.CONFIGS
        self._views: dict[str, View] = {}

    @property
    def place(self) -> places.Place:
        """The current place."""
        return self.stack.place

    @property
    def view(self) -> View:
        """The visible view."""
        return self._view(self.stack.place.view)

    def _view(self, name: str) -> View:
        if name not in self._views:
            self._views[name] = self._make_view(name)
        return self._views[name]

    def show(self) -> None:
        """Show the current place in its view, and focus the view."""
        self.view.show(self.stack.place)
        self.view.lines.focus()
        self._arrived()

    def clear_marks(self) -> None:
        """Clear the marks of all views, after an apply."""
        for view in self._views.values():
            view.lines.set_marks(())

    async def goto(self, place: places.Place, *, aside: bool = False, row: Hashable | None = None) -> None:
        """Show a place, and push the current one on the back stack. Do nothing for the place that is shown.

        The view is mounted when it is first shown. All changes are painted at once, at the end.

        Args:
            aside: whether the place is another section of the same entity; see `BackStack.go`.
            row: key of the row that gets the cursor, if the view has it; None to leave the cursor where it was.
        """
        if place == self.stack.place:
            return
        self._leaving(self.stack.place, place)
        old, new = self.view, self._view(place.view)
        self.stack.go(place, aside=aside)
        with self._body.app.batch_update():
            if new is not old:
                old.display = False
                if not new.is_attached:  # mount once and only hide later, so that cursor, marks and filter stay
                    await self._body.mount(new)
                new.display = True
            self.show()
            if row is not None:
                new.lines.move_cursor(row)

    def _start(self, place: places.Place) -> None:
        start(self._body.app, partial(self.goto, place), group="goto", name="goto")

    def open_resource(self, resource: ConfigResource) -> None:
        """Show an entity inside the current pane: its configs, or the last section shown of a topic."""
        # From the list of topics, open the section of a topic that was shown last; from elsewhere, open its configs.
        keeps = resource.type == codes.TOPIC and self.stack.place.view == keymap.TOPICS
        section = self._section if keeps else keymap.CONFIGS
        self._start(places.Place(section, self.stack.place.pane, resource))

    def open_target(self, target: changes.Target | None) -> None:
        """Show the entity that an edit changes: in its own pane, or inside this one if it has configs."""
        match target:
            case ConfigResource():
                self.open_resource(target)
            case QuotaEntity():
                self._start(places.pane_named(keymap.QUOTAS))
            case Acl():
                self._start(places.pane_named(keymap.ACLS))
            case changes.GroupTarget(name=group) | changes.GroupOffsetTarget(group=group):
                self._start(places.view_place(keymap.GROUP)._replace(about=group))
            case changes.LogTarget(topic=topic) | changes.NewRecords(topic=topic):
                self._start(places.view_place(keymap.TOPIC)._replace(about=topic_resource(topic)))
            case changes.BrokerTarget():
                self._start(places.pane_named(keymap.BROKERS))
            case changes.OwnTarget(resource=ConfigResource(type=codes.CONNECTOR) as about):
                self._start(places.view_place(keymap.CONNECTOR)._replace(about=about))
            case changes.OwnTarget(part=Part() as part):
                self._start(places.view_place(keymap.view_of(part)))
            case str():
                self.open_resource(topic_resource(target))

    async def show_history(self, about: ConfigResource | QuotaEntity | str | None, text: str | None = None) -> None:
        """Show the history of an entity.

        Args:
            about: the entity; None for the whole cluster.
            text: the filter; None to keep the current one.

        Raises:
            ValueError: the filter is invalid. The history is shown nevertheless.
        """
        await self.goto(places.pane_named(keymap.HISTORY)._replace(about=about))
        if text is not None:
            self.view.take_filter(text)

    async def show_transactions(self, topic: str | None) -> None:
        """Show the open transactions of a topic, or of all topics if `topic` is None."""
        about = topic_resource(topic) if topic is not None else None
        await self.goto(places.view_place(keymap.TRANSACTIONS)._replace(about=about))

    async def do_transactions(self) -> None:
        """Show the open transactions of the topic under the cursor; without one, of all topics."""
        target = self.view.target() if self.stack.place.view != keymap.TRANSACTIONS else None
        await self.show_transactions(
            target.name if isinstance(target, ConfigResource) and target.type == codes.TOPIC else None
        )

    async def do_past(self) -> None:
        """Show the history of the entity under the cursor."""
        await self.show_history(self.view.target())

    async def show_part(self, view: str) -> None:
        """Show another part of the topic, or of the brokers pane, by its view's name."""
        if view in places.SECTIONS:
            self._section = view
        await self.goto(self.stack.place._replace(view=view), aside=True)

    async def do_section(self, step: int = 1) -> None:
        """Show another part of the topic, the connector, the brokers pane or Connect.

        Args:
            step: 1 for the next, -1 for the previous; it wraps around.
        """
        views = [view for view, _ in places.parts_of(self.stack.place)]
        await self.show_part(views[(views.index(self.stack.place.view) + step) % len(views)])

    async def do_section_back(self) -> None:
        """Show the previous part."""
        await self.do_section(-1)

    do_nodes = do_connect = do_section
    do_nodes_back = do_connect_back = do_section_back

    async def do_back(self) -> None:
        """Clear the filter. Without a filter, show all rows again. If all rows are shown, go back to the previous
        place.
        """
        if self.view.filter_text:
            self.view.take_filter("")
        elif self.view.only_trouble:
            self.view.do_trouble()
        elif (place := self.stack.back()) is not None:
            await self.goto(place)

    async def do_last(self) -> None:
        """Show the place before the current one."""
        if (place := self.stack.last()) is not None:
            await self.goto(place)
