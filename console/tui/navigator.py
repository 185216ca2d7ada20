"""The navigator: shows one view at a time, creates views, keeps each with its cursor, and goes back and forth."""

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
    """Shows places: a place is a view, its pane and the entity that it is about.

    A view is created when it is first needed to show a place, and kept with its cursor and filter.
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
            first: the first place.
            make_view: returns a new view by name.
            body: container of the views.
            leaving: called before another place is shown, with the old and the new place.
            arrived: called when another place is shown; writes the lines around the view, and reads the place's data.
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
        """Unmark all rows of all views. Called after an apply."""
        for view in self._views.values():
            view.lines.set_marks(())

    async def goto(self, place: places.Place, *, aside: bool = False, row: Hashable | None = None) -> None:
        """Show a place, and put the current one on the stack of places to go back to. No-op for the current place.

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
        """Show the configs of an entity inside the current pane. For a topic that is opened from the list of topics,
        show instead the section (such as partitions or configs) that was visible last for any topic.
        """
        # Keep the section only from the list of topics, so that the operator can go through topics in one section.
        keeps = resource.type == codes.TOPIC and self.stack.place.view == keymap.TOPICS
        section = self._section if keeps else keymap.CONFIGS
        self._start(places.Place(section, self.stack.place.pane, resource))

    def open_target(self, target: changes.Target | None) -> None:
        """Show the entity that an edit changes: inside the current pane if it has configs, else in its own pane. No-op
        for None.
        """
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
            text: the filter to apply; None to keep the view's filter.

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
        """Show the open transactions of the topic under the cursor; of all topics if there is no topic under the
        cursor.
        """
        target = self.view.target() if self.stack.place.view != keymap.TRANSACTIONS else None
        await self.show_transactions(
            target.name if isinstance(target, ConfigResource) and target.type == codes.TOPIC else None
        )

    async def do_past(self) -> None:
        """Show the history of the entity under the cursor."""
        await self.show_history(self.view.target())

    async def show_part(self, view: str) -> None:
        """Show another section of the same topic, connector or pane. view: the name of the section's view."""
        if view in places.SECTIONS:
            self._section = view
        await self.goto(self.stack.place._replace(view=view), aside=True)

    async def do_section(self, step: int = 1) -> None:
        """Show another section of the same topic, connector, brokers pane or pane of Connect.

        Args:
            step: 1 for the next, -1 for the previous; it wraps around.
        """
        views = [view for view, _ in places.parts_of(self.stack.place)]
        await self.show_part(views[(views.index(self.stack.place.view) + step) % len(views)])

    async def do_section_back(self) -> None:
        """Show the previous section."""
        await self.do_section(-1)

    do_nodes = do_connect = do_section
    do_nodes_back = do_connect_back = do_section_back

    async def do_back(self) -> None:
        """Remove the view's filter. If it has none, show all rows again instead of only those in trouble. If all rows
        are shown, go back to the previous place.
        """
        if self.view.filter_text:
            self.view.take_filter("")
        elif self.view.only_trouble:
            self.view.do_trouble()
        elif (place := self.stack.back()) is not None:
            await self.goto(place)

    async def do_last(self) -> None:
        """Show the place that was shown before the current one; no-op if there was none."""
        if (place := self.stack.last()) is not None:
            await self.goto(place)
