"""Migrations from empty lead to the schema of today, and the files of former versions open."""

import importlib

import pytest
from sqlalchemy import MetaData, inspect

from stores import schema_version
from stores.database import Database

SCHEMAS = {
    "bus": "stores.bus_schema",
    "ingress": "stores.ingress_schema",
    "inbox": "stores.inbox_schema",
    "practice": "stores.practice_chat",
}


def metadata_of(name):
    module = importlib.import_module(SCHEMAS[name])
    return next(value for value in vars(module).values() if isinstance(value, MetaData))


def schema(database):
    with database.glance() as reader:
        view = inspect(reader)
        return {
            table: {
                "columns": [
                    (column["name"], str(column["type"]), column["nullable"], column["default"])
                    for column in view.get_columns(table)
                ],
                "primary key": view.get_pk_constraint(table),
                "unique": sorted(map(str, view.get_unique_constraints(table))),
                "indexes": sorted(map(str, view.get_indexes(table))),
                "foreign keys": sorted(map(str, view.get_foreign_keys(table))),
                "checks": sorted(map(str, view.get_check_constraints(table))),
            }
            for table in view.get_table_names()
        }


def migrated_from_empty(connection, metadata, name):
    schema_version.migrate(connection, name, None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_migrations_from_empty_equal_the_schema(name, tmp_path, monkeypatch):
    fresh = Database(tmp_path / "fresh.db", metadata_of(name), name)
    expected = schema(fresh)
    fresh.close()
    monkeypatch.setattr(schema_version, "create_tables", migrated_from_empty)
    migrated = Database(tmp_path / "migrated.db", metadata_of(name), name)
    found = schema(migrated)
    migrated.close()
    assert found == expected


def test_every_database_has_its_steps_in_a_row():
    for name in SCHEMAS:
        numbers = [int(number) for number in schema_version.migration_steps(name)]
        assert numbers == list(range(1, len(numbers) + 1)), name


def test_every_folder_of_migrations_is_compared():
    folders = {path.name for path in schema_version.MIGRATIONS.iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == set(SCHEMAS)
