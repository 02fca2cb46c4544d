"""Submits by SQL as a program in Python does: python3 submits.py DRIVER URL PAGE, by submit.python.ts."""

import json
import re
import sys
from urllib.parse import unquote, urlparse

driver, url, page = sys.argv[1:4]
told = {}


class Psycopg:
    def __init__(self):
        import psycopg

        self.error = psycopg.Error
        self.db = psycopg.connect(url)

    def run(self, text, values=()):
        return self.db.execute(text, values)

    def payload(self, value):
        from psycopg.types.json import Jsonb

        return Jsonb(value)

    def one(self, text, values=()):
        return self.run(text, values).fetchone()[0]

    def fields(self, error):
        return [error.sqlstate, error.diag.message_detail, error.diag.message_hint]


class Pg8000:
    def __init__(self):
        import pg8000.dbapi

        self.error = pg8000.dbapi.DatabaseError
        at = urlparse(url)
        self.db = pg8000.dbapi.connect(
            user=unquote(at.username or "postgres"),
            password=unquote(at.password or ""),
            host=at.hostname,
            port=at.port,
            database=at.path[1:],
        )

    def run(self, text, values=()):
        cursor = self.db.cursor()
        cursor.execute(text, values)
        return cursor

    def payload(self, value):
        return json.dumps(value)

    def one(self, text, values=()):
        return self.run(text, values).fetchone()[0]

    def fields(self, error):
        said = error.args[0]
        return [said["C"], said.get("D"), said.get("H")]


by = {"psycopg": Psycopg, "pg8000": Pg8000}[driver]()
call = "select muster.submit('orders', %s, %s, %s)"


def submit(id, customer, total=1, target=None):
    return by.one(call, (f"{driver}-{id}", by.payload({"customer": customer, "total": total}), target or customer))


# In one transaction with a row of its own, committed and rolled back.
by.run("insert into purchase values (%s, %s)", (1, driver))
told["new"] = submit("kept", "ada")
by.db.commit()
by.run("insert into purchase values (%s, %s)", (2, driver))
told["rolledBack"] = submit("dropped", "ada")
by.db.rollback()

# Repeats, within a transaction and after it.
told["repeat"] = submit("kept", "ada")
told["twice"] = [submit("twice", "bob"), submit("twice", "bob")]
by.db.commit()

# Text of any kind, a large number of tasks, and names for arguments.
told["texts"] = submit("texts-äö-\U0001f642-'\"\\", "o'neil \U0001f642")
for n in range(50):
    submit(f"many-{n}", f"customer-{n % 5}", n)
told["named"] = by.one(
    "select muster.submit(handler => 'orders', id => %s, payload => %s, target => %s, priority => -1)",
    (f"{driver}-named", by.payload({"customer": "eve", "total": 2}), "eve"),
)
by.db.commit()

# Errors: SQLSTATE, the client's code and the remedy; a savepoint keeps the rest.
told["errors"] = {}
wrong = {
    "conflict": ("orders", f"{driver}-kept", by.payload({"customer": "ada", "total": 99}), "ada"),
    "handler": ("nope", f"{driver}-x", by.payload({}), "ada"),
    "id": ("orders", "", by.payload({}), "ada"),
}
submit("beside", "ada")
for name, values in wrong.items():
    by.run("savepoint one")
    try:
        by.one("select muster.submit(%s, %s, %s, %s)", values)
    except by.error as error:
        told["errors"][name] = by.fields(error)
        by.run("rollback to savepoint one")
by.db.commit()

# What the page shows, as it stands there.
if driver == "psycopg":
    import psycopg
    from psycopg.types.json import Jsonb

    (shown,) = re.findall(r"```python\n(.*?)```", open(page, encoding="utf-8").read(), re.S)
    exec(shown, {"psycopg": psycopg, "Jsonb": Jsonb, "url": url})

print(json.dumps(told))
