"""`python mariadb.py DRIVER COMMAND …`: runs the command beside a MariaDB of its own, which holds the shop's orders. DRIVER is `pymysql` or `mysqldb`.

The server is that of Debian's packages in the folder `packages`, which are installed nowhere. It listens to a socket in a folder of its own, and ends with the command.
"""

import getpass
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PACKAGES = Path("packages").resolve()
LIBRARIES = [PACKAGES / "usr/lib/x86_64-linux-gnu", PACKAGES / "lib/x86_64-linux-gnu"]
FILL = Path(__file__).with_name("fill.py")
START_SECONDS_MAX = 60


def main(driver: str, command: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        with server(Path(folder)) as mariadb:
            try:
                socket = Path(folder) / "socket"
                wait_for(socket, mariadb, Path(folder) / "log")
                address = f"mysql+{driver}://root@localhost/shop?unix_socket={socket}"
                environment = {**os.environ, "SHOP_URL": address}
                subprocess.run([sys.executable, FILL], env=environment, check=True)
                return subprocess.run(command, env=environment).returncode
            finally:
                mariadb.terminate()


def server(folder: Path) -> "subprocess.Popen[bytes]":
    # Nobody else reaches the socket, so there are no users; a database is a folder.
    (folder / "data/shop").mkdir(parents=True)
    options = [
        "--no-defaults", "--skip-grant-tables", "--skip-networking", f"--user={getpass.getuser()}", f"--datadir={folder / 'data'}",
        f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}", f"--lc-messages-dir={PACKAGES / 'usr/share/mysql'}",
    ]
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(str, LIBRARIES))}
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([PACKAGES / "usr/sbin/mariadbd", *options], env=environment, stdout=log, stderr=log)


def wait_for(socket: Path, mariadb: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + START_SECONDS_MAX
    while not socket.exists():
        if mariadb.poll() is not None or time.monotonic() > end:
            sys.exit(f"error: MariaDB has not started: {log.read_text(errors='replace').strip().splitlines()[-1:]}")
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
