"""What there is to take is the least of what machine, container and process allow."""

import subprocess
import sys

import pytest

from maxmargin.data import memory

GB = 1 << 30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine of 64 GB, of which 50 are left, with groups to be written."""
    (tmp_path / "meminfo").write_text(f"MemTotal: {64 << 20} kB\nMemAvailable: {50 << 20} kB\n")
    monkeypatch.setattr(memory, "MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "MEMBER_OF", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "MOUNTED", tmp_path / "mounted")
    return tmp_path


def write_group(folder, limit, used, files, names):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\n{names[2]} {files}\n")


V2 = ("memory.max", "memory.current", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@pytest.mark.parametrize("names", [V2, V1])
def test_a_container_leaves_less_than_the_machine_has(system, names):
    top = system / "mounted" / ("" if names is V2 else "memory")
    (system / "cgroup").write_text(
        "0::/outer/inner\n" if names is V2 else "4:memory:/outer/inner\n"
    )
    write_group(top / "outer" / "inner", 8 * GB, 1 * GB, 0, names)
    assert memory.available_memory() == 7 * GB
    write_group(top / "outer", 4 * GB, 2 * GB, GB // 2, names)  # half a GB are files
    assert memory.available_memory() == 2 * GB + GB // 2


def test_a_container_may_show_its_own_group_as_the_top(system):
    (system / "cgroup").write_text("0::/outer/inner\n")
    write_group(system / "mounted", 2 * GB, 1 * GB, 0, V2)
    assert memory.available_memory() == GB


def test_no_limit_and_no_groups_leave_what_the_machine_has(system):
    assert memory.available_memory() == 50 * GB
    (system / "cgroup").write_text("0::/\n")
    write_group(system / "mounted", "max", GB, 0, V2)
    assert memory.available_memory() == 50 * GB
    write_group(system / "mounted", GB, 2 * GB, 0, V2)
    assert memory.available_memory() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits as on Linux")
def test_a_kernel_machine_keeps_within_the_limit_of_its_process():
    """It asked for the whole matrix, 1.6 GB, and ended with an error."""
    code = (
        "import resource, warnings, numpy as np, scipy.linalg\n"
        "from maxmargin import KernelSVC\n"
        "warnings.simplefilter('ignore')\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), resource.RLIM_INFINITY))\n"
        "X = np.random.default_rng(0).normal(size=(20_000, 2)).astype('f')\n"
        "KernelSVC(max_time=0.5, n_jobs=1).fit(X, X[:, 0] > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
