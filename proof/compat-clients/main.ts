/**
 * Sends through the doors of Twilio, Resend and SMTP with clients of others: `npm run compat-clients [-- --all --only <name>]`.
 * Installs several major versions of the official packages from npm in a temporary folder, and runs a scenario with each
 * against the built service, in the sandbox. Python's smtplib and swaks take part where they are installed. `--all`: a client
 * that is not installed fails the run. `--only twilio`: the clients whose name begins so.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CLIENTS, install, versionOf } from './clients.ts'
import { playScenario, type Result } from './play.ts'
import { openStage } from './stage.ts'

const NOT_INSTALLED = 'not installed'

const { values } = parseArgs({
  options: { all: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
})
const folder = mkdtempSync(join(tmpdir(), 'svc-compat-clients-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
// A signal does not emit 'exit', on which the folder is removed and the service is stopped.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const clients = CLIENTS.filter(({ name }) => name.startsWith(values.only))
if (clients.length === 0) {
  console.error(`no client ${values.only}; there are ${CLIENTS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
await install(folder, clients)
const stage = await openStage(folder)
const results: Result[] = []
for (const client of clients) {
  const version = await versionOf(client)
  const result =
    version === null
      ? { client, version: NOT_INSTALLED, checks: [], fault: null }
      : await playScenario(client, version, { folder, stage })
  results.push(result)
}
const faults = await stage.close()

console.log(tableOf(results))
for (const { client, version, checks, fault } of results) {
  const name = `${client.name} ${version}`
  if (version === NOT_INSTALLED) {
    const text = `${client.name} is not installed`
    if (values.all) faults.push(text)
    else console.log(`SKIPPED ${text}; with --all this is a failure`)
  }
  if (fault !== null) faults.push(`${name}: ${fault}`)
  for (const check of checks) if (check.fault) faults.push(`${name}: ${check.name}: ${check.fault}`)
}
for (const fault of faults) console.log(`FAILED ${fault}`)
if (faults.length > 0) process.exitCode = 1

/** A table of the results: client, version, passed checks, and checks that the version has no function for. */
function tableOf(results: readonly Result[]): string {
  const rows = results.map(({ client, version, checks }) => {
    const tried = checks.filter(({ exists }) => exists)
    const passed = tried.filter(({ fault }) => fault === null)
    const missing = checks.filter(({ exists }) => !exists).map(({ name }) => name)
    return [
      client.package?.name ?? client.name,
      version,
      checks.length === 0 ? '-' : `${passed.length} of ${tried.length}`,
      missing.join(', '),
    ]
  })
  const all = [['Client', 'Version', 'Passed', 'Not in this version'], ...rows]
  const widths = all[0]?.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0))) ?? []
  const lines = all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return lines.join('\n')
}
