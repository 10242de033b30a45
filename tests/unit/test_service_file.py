"""The files that have a system keep one process, and what they never hold."""

import plistlib
import shlex

import pytest

from actors.plans.service_file import Service, System, by_hand, command, service_name


def service(system=System.SYSTEMD, bot=None, home=None):
    return Service(
        system=system, name=service_name(bot), command=command("/v/py", "/s/run.py", bot, home),
        directory="/home/ann", path="/usr/bin:/opt/100%/bin", log="/home/ann/log",
    )


def test_a_unit_runs_one_process_and_again_when_it_fails():
    text = service(bot="work", home='/h o"me/$x').text()
    assert (
        'ExecStart="/v/py" "/s/run.py" "run" "--verbose" "--mode" "echo" "--name" "switchboard-work"'
        ' "--bot" "work" "--home" "/h o\\"me/$$x"\n'
    ) in text
    assert 'Environment="PATH=/usr/bin:/opt/100%%/bin"' in text
    assert "Restart=on-failure" in text and "RestartPreventExitStatus=2 3 4" in text
    assert "WantedBy=default.target" in text


def test_an_agent_says_the_same_to_launchd():
    made = service(System.LAUNCHD, home="/h & <me>")
    said = plistlib.loads(made.text().encode())
    assert said["ProgramArguments"] == list(made.command)
    assert said["KeepAlive"] == {"SuccessfulExit": False} and said["RunAtLoad"] is True
    assert said["Umask"] == 0o077
    assert made.file_name == "org.switchboard.agent.plist"
    assert service(System.LAUNCHD, bot="work").label == "org.switchboard.agent.work"


@pytest.mark.parametrize("system", list(System))
def test_the_commands_for_people_name_the_service(system):
    made = service(system, bot="work")
    for commands in (made.starting(501, "/f"), made.ending(501), (made.asking(501),)):
        text = by_hand(commands)
        assert "work" in text or "/f" in text
        assert [tuple(shlex.split(line)) for line in text.splitlines()] == list(commands)
