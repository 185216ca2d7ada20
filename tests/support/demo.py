"""``make demo-brokers``: starts three real brokers with demo data and opens the console on them; both end together."""

import subprocess
import sys

from tests.support import demo_data


def main() -> int:
    """Run the demo until the console ends. Return the console's exit code; 1 if the brokers do not start, 130 after
    Ctrl-C.
    """
    try:
        print("starting three Kafka brokers (the first time fetches Kafka, a minute or two) …", flush=True)
        with demo_data.demo_cluster() as cluster:
            print("filling them …", flush=True)
            demo_data.seed(cluster.addresses)
            return subprocess.call([sys.executable, "-m", "console", "-b", cluster.bootstrap])
    except (RuntimeError, OSError) as failure:
        print(f"make demo-brokers: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
