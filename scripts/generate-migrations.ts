/**
 * Writes the migrations of both engines from the one table definition:
 *
 *   npm run db:generate [name]           from the changes of the table definitions
 *   npm run db:generate -- --custom name  empty files, for changes that a table definition cannot express
 *
 * A new migration gets an entry in migrations/kinds.json. Write there what it does, and `must_stop` if servers of the version
 * before cannot run beside it for a reason that its statements do not show.
 *
 * drizzle-kit supports neither STRICT nor WITHOUT ROWID. Every new SQLite table becomes STRICT here, because a column
 * of a plain table would store 0.1 in place of whole micro-credits. Narrow tables that are read by their key become
 * WITHOUT ROWID, which saves one of two trees to write.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dialects } from '../packages/core/src/rows/dialect.ts'
import { tables } from '../packages/core/src/rows/tables.ts'
import { changesOf } from '../packages/core/src/storage/migration-changes.ts'

const core = fileURLToPath(new URL('../packages/core', import.meta.url))
const kit = join(core, 'node_modules/drizzle-kit/bin.cjs')
const custom = process.argv[2] === '--custom'
const name = process.argv[custom ? 3 : 2]

const KEYED = new Set([
  'bulk_rejections',
  'credit_causes',
  'credit_days',
  'credit_holds',
  'credit_marks',
  'credit_lots',
  'api_key_spending',
  'ended_sessions',
  'login_networks',
  'owner_mails',
  'members',
  'sessions',
  'oidc_identities',
  'second_factors',
  'passkeys',
  'passkey_challenges',
  'contact_tags',
  'contact_words',
  'conversations',
  'message_parts',
  'dispatch_pauses',
  'provider_pauses',
  'received_parts',
  'retention_marks',
  'delivery_attempts',
  'deliveries',
  'delivery_queue',
  'events',
  'ledger_entries',
  'message_attempts',
  'message_counts',
  'message_events',
  'message_files',
  'message_queue',
  'messages',
  'recipient_entries',
  'recipient_segments',
  'suppressions',
  'webhook_failures',
  'webhook_hours',
])

/** drizzle-kit reads a module that exports each table by its name: this file exists while it runs. */
function writeSchema(engine: 'sqlite' | 'postgres'): string {
  const folder = join(core, 'node_modules/.schema')
  const path = join(folder, `${engine}.ts`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    path,
    `import { dialects } from '../../src/rows/dialect.ts'
import { tables } from '../../src/rows/tables.ts'
export const { ${Object.keys(tables(dialects[engine])).join(', ')} } = tables(dialects.${engine})
`,
  )
  return path
}

for (const [engine, dialect] of [
  ['sqlite', 'sqlite'],
  ['postgres', 'postgresql'],
] as const) {
  execFileSync(
    process.execPath,
    [
      kit,
      'generate',
      `--dialect=${dialect}`,
      `--schema=${writeSchema(engine)}`,
      `--out=./migrations/${engine}`,
      ...(custom ? ['--custom'] : []),
      ...(name ? [`--name=${name}`] : []),
    ],
    { cwd: core, stdio: 'inherit' },
  )
}

rmSync(join(core, 'node_modules/.schema'), { recursive: true })

const folder = join(core, 'migrations/sqlite')
for (const file of readdirSync(folder).filter((entry) => entry.endsWith('.sql'))) {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  const strict = text.replace(
    /^(CREATE TABLE `(\w+)` [^;]*\n\));/gm,
    (_, table: string, name: string) =>
      `${table} STRICT${KEYED.has(name) ? ', WITHOUT ROWID' : ''};`,
  )
  if (strict !== text) writeFileSync(path, strict)
}

const kindsFile = join(core, 'migrations/kinds.json')
const kinds = JSON.parse(readFileSync(kindsFile, 'utf8')) as Record<string, object>
const journal = readFileSync(join(core, 'migrations/postgres/meta/_journal.json'), 'utf8')
for (const { tag } of (JSON.parse(journal) as { entries: { tag: string }[] }).entries) {
  if (kinds[tag]) continue
  const statements = ['sqlite', 'postgres'].flatMap((engine) =>
    readFileSync(join(core, `migrations/${engine}/${tag}.sql`), 'utf8').split(
      '--> statement-breakpoint',
    ),
  )
  const breaks = changesOf(statements).some((change) => change.breaks !== null)
  kinds[tag] = {
    does: tag.slice(5).replaceAll('_', ' '),
    older_servers: breaks ? 'must_stop' : 'may_run',
  }
}
writeFileSync(kindsFile, `${JSON.stringify(kinds, null, 2)}\n`)
