import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { changesOf, indexOf } from './migration-changes.ts'
import { migrationsOf } from './migrations.ts'

const KINDS = JSON.parse(
  readFileSync(new URL('../../migrations/kinds.json', import.meta.url), 'utf8'),
) as Record<string, { does: string; older_servers: string | Record<string, string> }>

const breaksOf = (...sql: string[]) =>
  changesOf(sql).flatMap(({ breaks }) => (breaks === null ? [] : [breaks]))

describe('a statement that older servers survive', () => {
  it.each([
    ['a table', 'CREATE TABLE "a" ("id" text NOT NULL, "n" integer NOT NULL)'],
    ['a strict table', 'CREATE TABLE `a` (`id` text NOT NULL) STRICT, WITHOUT ROWID'],
    ['an unlogged table', 'CREATE UNLOGGED TABLE "a" ("id" text) WITH (fillfactor = 50);'],
    ['a column', 'ALTER TABLE "a" ADD COLUMN "b" text'],
    ['a column with a default', 'ALTER TABLE `a` ADD `b` integer DEFAULT 0 NOT NULL'],
    ['a default', 'ALTER TABLE "a" ALTER COLUMN "b" SET DEFAULT 1'],
    ['an index', 'CREATE INDEX "i" ON "a" USING btree ("b","c") WHERE b is not null;'],
    ['a function', 'CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN; DELETE FROM a; END $$'],
  ])('is %s', (_, text) => {
    expect(breaksOf(text)).toEqual([])
  })

  it('is an index that is made again, and anything about a table of the same migration', () => {
    expect(breaksOf('DROP INDEX "i"', 'CREATE INDEX "i" ON "a" ("b")')).toEqual([])
    expect(
      breaksOf(
        'CREATE TABLE `a` (`id` text)',
        'CREATE UNIQUE INDEX `u` ON `a` (`id`)',
        'ALTER TABLE `a` ADD CONSTRAINT `c` CHECK (id is not null)',
        'CREATE TRIGGER t BEFORE UPDATE ON a BEGIN SELECT 1; END',
      ),
    ).toEqual([])
  })

  it('is a unique index of a new column, which older servers leave null', () => {
    const index = 'CREATE UNIQUE INDEX "u" ON "a" ("w","b") WHERE b is not null'
    expect(breaksOf('ALTER TABLE "a" ADD COLUMN "b" text', index)).toEqual([])
  })
})

describe('a statement that older servers do not survive', () => {
  it.each([
    ['a dropped table', 'DROP TABLE "a"'],
    ['a dropped column', 'ALTER TABLE "a" DROP COLUMN "b"'],
    ['a dropped constraint', 'ALTER TABLE "a" DROP CONSTRAINT "c"'],
    ['a dropped index', 'DROP INDEX "i"'],
    ['a renamed table', 'ALTER TABLE `__new_a` RENAME TO `a`'],
    ['a renamed column', 'ALTER TABLE "a" RENAME COLUMN "b" TO "c"'],
    ['a required column', 'ALTER TABLE "a" ADD COLUMN "b" text NOT NULL'],
    ['a unique column', 'ALTER TABLE "a" ADD COLUMN "b" text UNIQUE'],
    ['a reference', 'ALTER TABLE "a" ADD COLUMN "b" text REFERENCES "c"("id")'],
    ['a checked column', 'ALTER TABLE "a" ADD COLUMN "b" integer DEFAULT 0 CHECK (b >= 0)'],
    ['another type', 'ALTER TABLE "a" ALTER COLUMN "b" SET DATA TYPE json'],
    ['a value that is required', 'ALTER TABLE "a" ALTER COLUMN "b" SET NOT NULL'],
    ['a value that is not required', 'ALTER TABLE "a" ALTER COLUMN "b" DROP NOT NULL'],
    ['a constraint', 'ALTER TABLE "a" ADD CONSTRAINT "c" CHECK (b > 0)'],
    ['a unique index', 'CREATE UNIQUE INDEX "u" ON "a" ("b")'],
    ['a trigger', 'CREATE TRIGGER t BEFORE UPDATE ON a FOR EACH ROW EXECUTE FUNCTION f()'],
    ['new rows', 'INSERT INTO counts (n) SELECT count(*) FROM a'],
    ['changed rows', 'UPDATE a SET b = 1'],
    ['rows changed by a query', 'WITH c AS (SELECT 1) UPDATE a SET b = 1'],
    ['removed rows', 'DELETE FROM a'],
    ['an unknown statement', 'ALTER SEQUENCE s RESTART'],
    ['a second statement', 'ALTER TABLE "a" ADD COLUMN "b" text; DROP TABLE "c"'],
    ['a second action', 'ALTER TABLE "a" ADD COLUMN "b" text, DROP COLUMN "c"'],
    ['a statement after a comment', '-- adds nothing\nDROP TABLE "a"'],
  ])('is %s', (_, text) => {
    expect(breaksOf(text)).toHaveLength(1)
  })

  it('is a unique index of a new column whose default older servers write', () => {
    const index = 'CREATE UNIQUE INDEX "u" ON "a" ("b")'
    expect(breaksOf('ALTER TABLE "a" ADD COLUMN "b" text DEFAULT \'x\'', index)).toHaveLength(1)
  })
})

describe('the work of a statement', () => {
  it.each([
    ['CREATE INDEX "i" ON "a" ("b")', 'index', ['a']],
    ['ALTER TABLE "a" ADD COLUMN "b" text', 'none', ['a']],
    ['ALTER TABLE "a" ADD COLUMN "b" uuid DEFAULT gen_random_uuid()', 'rewrite', ['a']],
    ['ALTER TABLE "a" ALTER COLUMN "b" SET DATA TYPE json', 'rewrite', ['a']],
    ['INSERT INTO c (n) SELECT count(*) FROM a JOIN b ON true', 'read', ['c', 'a', 'b']],
    ['CREATE TABLE "a" ("id" text)', 'none', []],
  ])('%s', (text, work, tables) => {
    expect(changesOf([text])).toMatchObject([{ work, tables }])
  })

  it('is none for the index of a new table', () => {
    const made = changesOf(['CREATE TABLE "a" ("b" text)', 'CREATE INDEX "i" ON "a" ("b")'])
    expect(made.map(({ work }) => work)).toEqual(['none', 'none'])
  })
})

it('the name and the table of an index are found', () => {
  expect(indexOf('CREATE UNIQUE INDEX "i_a" ON "a" USING btree ("b","c");')).toEqual({
    name: 'i_a',
    table: 'a',
  })
  expect(indexOf('DROP INDEX "i_a"')).toBeNull()
})

describe('each migration', () => {
  const names = migrationsOf('postgres').map(({ name }) => name)

  it('declares in kinds.json what it does and whether older servers may run', () => {
    expect(Object.keys(KINDS)).toEqual(names)
    for (const { does, older_servers } of Object.values(KINDS)) {
      expect(does).toMatch(/^[a-z][^\n]{8,90}[^.\n]$/)
      const declared =
        typeof older_servers === 'string' ? [older_servers] : Object.values(older_servers)
      for (const each of declared) expect(['may_run', 'must_stop']).toContain(each)
    }
  })

  it.each(['sqlite', 'postgres'] as const)('on %s is as compatible as it declares', (engine) => {
    const falsely = migrationsOf(engine).flatMap(({ name, sql, is_compatible }) =>
      is_compatible ? breaksOf(...sql).map((breaks) => `${name} ${breaks}`) : [],
    )
    expect(falsely).toEqual([])
  })
})
