import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { fold } from '../src/contacts/change.ts'
import { wordKey, wordsOf } from '../src/rules/contact-words.ts'
import { Sqlite } from '../src/storage/sqlite/engine/connection.ts'
import { openSqlite } from '../src/storage/sqlite/sqlite.ts'
import { builders, testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'
import { createDatabase } from './postgres-database.ts'

const TEXTS = [
  "Asha O'Hara-Mwangi",
  'Żółw 🐢 (STRASSE), "Große" / Müller’s',
  '+255700000001\nAsha.K+news@Acme-Corp.example\ncrm_17',
  `${'🐢'.repeat(45)} ${'x'.repeat(200)}`,
  Array.from({ length: 40 }, (_, i) => `w${i}`).join(' '),
  ' - ',
  '',
].map(fold)

/** The statement that fills the index from the contacts of an older version. */
function fillingOf(engine: 'sqlite' | 'postgres'): string {
  const file = new URL(`../migrations/${engine}/0054_contact_words.sql`, import.meta.url)
  return readFileSync(file, 'utf8').split('--> statement-breakpoint').at(-1) ?? ''
}

const expected = TEXTS.flatMap((text, i) => wordsOf(text).map((word) => `${i} ${wordKey(word)}`))

it('has at most 24 words of a text, each once and cut to 40 characters', () => {
  expect(wordsOf("asha o'hara asha")).toEqual(['asha', 'o', 'hara'])
  expect(wordsOf(TEXTS[4] ?? '')).toHaveLength(24)
  expect(wordsOf(TEXTS[3] ?? '')).toEqual(['🐢'.repeat(40), 'x'.repeat(40)])
})

it('has the same words as the migration on SQLite', () => {
  const database = new Sqlite(':memory:')
  database.exec('create table contacts (workspace_id text, id text, search_text text)')
  database.exec('create table contact_words (workspace_id text, word text, contact_id text)')
  const insert = database.prepare("insert into contacts values ('w', ?, ?)")
  for (const [i, text] of TEXTS.entries()) insert.run(`${i}`, text)
  database.exec(fillingOf('sqlite'))
  const rows = database
    .prepare("select contact_id || ' ' || word as entry from contact_words")
    .all()
  expect((rows as { entry: string }[]).map(({ entry }) => entry).sort()).toEqual(expected.sort())
  database.close()
})

it('has the same words as the migration on PostgreSQL', async () => {
  const database = await createDatabase()
  const client = await database.connect()
  try {
    await client.query('create temp table contacts (workspace_id text, id text, search_text text)')
    await client.query(
      'create temp table contact_words (workspace_id text, word text, contact_id text)',
    )
    for (const [i, text] of TEXTS.entries()) {
      await client.query("insert into contacts values ('w', $1, $2)", [`${i}`, text])
    }
    await client.query(fillingOf('postgres'))
    const { rows } = await client.query(
      "select contact_id || ' ' || word as entry from contact_words",
    )
    expect(rows.map(({ entry }) => entry).sort()).toEqual(expected.sort())
  } finally {
    await client.end()
    await database.drop()
  }
})

it('keeps no word of a changed or a removed contact', async () => {
  const file = `${await migratedFolder('svc-words-')}/svc.db`
  const runtime = testRuntime('words')
  const storage = openSqlite(file, runtime)
  const one = builders(runtime).contact('w', { search_text: 'asha mwangi' })
  const stored = () => {
    const database = new Sqlite(file)
    const rows = database.prepare('select word from contact_words order by word').all()
    database.close()
    return (rows as { word: string }[]).map(({ word }) => word)
  }
  await storage.write(({ contacts }) => contacts.insert([one]))
  const changed = { ...one, search_text: 'asha otieno' }
  await storage.write(({ contacts }) => contacts.update(changed))
  expect(stored()).toEqual(['asha', 'otieno'].map(wordKey))
  await storage.write(({ contacts }) => contacts.remove('w', one.id))
  expect(stored()).toEqual([])
  await storage.close()
})
