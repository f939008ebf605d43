import type { DatabaseFacts, QueueFaults } from '@svc/core/operate'
import { counted, type Finding, findingsOf, reasonOf } from './finding.ts'

/** In older versions, a reset of the write-ahead log can damage a database. Source: release notes of SQLite 3.51.3. */
const SQLITE_MIN = [3, 51, 3]

const LOG_MAX = 256 * 1024 * 1024
const CONNECTIONS_MIN = 40
const CLOCK_OFF_MS = 2_000
const CLOCK_WRONG_MS = 30_000
/** The maximum size of a file whose pages are checked without --thorough. */
const PAGES_SIZE_MAX = 1024 * 1024 * 1024

/**
 * Checks that the database is usable and durable, and has this program's schema. `apart`: reads it in threads, for a server that
 * must continue to answer.
 */
export async function checkDatabase(
  url: string,
  { thorough, now, apart = false }: { thorough: boolean; now: () => Date; apart?: boolean },
): Promise<{ findings: Finding[]; is_usable: boolean }> {
  const is = findingsOf('database')
  const { migrationStatus, serversOf, ...operate } = await import('@svc/core/operate')
  const inspect = apart ? operate.inspectDatabaseApart : operate.inspectDatabase
  const findDamage = apart ? operate.findDamageApart : operate.findDamage
  try {
    const { pending, later, is_newer, applied } = await migrationStatus(url)
    if (is_newer) {
      const advice = 'install that version again, or restore a backup from before the upgrade'
      return unusable(is.error('the database was made by a newer version of svc', advice))
    }
    if (applied.length === 0) {
      return unusable(
        is.warning('the database is empty', 'svc serve creates its tables at its start'),
      )
    }
    if (pending.length > 0) {
      const advice =
        'the next start migrates it; see svc migrate --check, and back up first: svc backup'
      return unusable(is.warning(`the schema is behind by ${pending.join(', ')}`, advice))
    }
    const facts = await inspect(url, { now })
    const isChecked = thorough || facts.size_bytes <= PAGES_SIZE_MAX
    const damage = isChecked ? await findDamage(url) : null
    const findings = [
      ...engineFindings(facts),
      ...clockFindings(facts, now()),
      ...faultFindings(facts.faults),
    ]
    if (later.length > 0) {
      const advice = 'finish the upgrade: start the newer version in place of this one'
      findings.push(is.warning(`a newer version of svc has added ${later.join(', ')}`, advice))
    }
    if (serversOf(url).length > 1 && facts.settings.synchronous_standby_names === '') {
      const advice = 'set synchronous_standby_names on the primary'
      const risk = 'no standby is synchronous: a failover loses the last accepted messages'
      findings.push(is.warning(risk, advice))
    }
    if (damage !== null) {
      const advice =
        'stop the service, keep a copy of the file, and restore the last backup: svc restore'
      findings.unshift(is.error(`the file is damaged: ${damage}`, advice))
    }
    const size = `${Math.ceil(facts.size_bytes / 1024 / 1024).toLocaleString('en')} MB`
    const name = facts.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'
    const summary = is.ok(`${name} ${facts.version}, ${size}, ${applied.length} migrations`)
    return { findings: [summary, ...findings], is_usable: damage === null }
  } catch (error) {
    const advice =
      'check SVC_DATABASE_URL, and that the database server runs and can be reached from here'
    return unusable(is.error(reasonOf(error), advice))
  }
}

/** Checks that each read replica of a PostgreSQL database can be used now. */
export async function checkReplicas(
  url: string,
  {
    database_replica_urls: urls,
    database_replica_max_lag_ms: max_lag_ms,
  }: { database_replica_urls: readonly string[]; database_replica_max_lag_ms: number },
): Promise<Finding[]> {
  if (urls.length === 0) return []
  const is = findingsOf('replica')
  const { inspectReplicas } = await import('@svc/core/operate')
  const states = await inspectReplicas(url, { urls, max_lag_ms })
  return states.map(({ name, lag_ms, reason }) =>
    reason === null
      ? is.ok(`${name} has the last change after ${lag_ms} ms`)
      : is.warning(
          `${name} is not used: ${reason}`,
          'the primary answers meanwhile; check that it runs, streams, and is at most SVC_DATABASE_REPLICA_MAX_LAG_MS behind',
        ),
  )
}

function unusable(finding: Finding) {
  return { findings: [finding], is_usable: false }
}

function engineFindings({
  engine,
  version,
  settings,
  log_bytes,
  is_pooled,
  partitions = [],
  moving = [],
  now,
}: DatabaseFacts): Finding[] {
  const is = findingsOf('database')
  const findings: Finding[] = []
  if (engine === 'sqlite') {
    if (isOlder(version, SQLITE_MIN)) {
      findings.push(
        is.error(
          `SQLite ${version} has a fault that can damage the database`,
          `reinstall svc: it includes ${SQLITE_MIN.join('.')} or newer`,
        ),
      )
    }
    if (settings.journal_mode !== 'wal') {
      findings.push(
        is.error(
          `journal_mode is ${settings.journal_mode}, not wal`,
          'start svc serve once: it sets wal, and does not run without it',
        ),
      )
    }
    if ((log_bytes ?? 0) > LOG_MAX) {
      const megabytes = Math.floor((log_bytes ?? 0) / 1024 / 1024)
      findings.push(
        is.warning(
          `the write-ahead log has grown to ${megabytes} MB`,
          'a long read keeps SQLite from shortening it: close other programs that have the database open; or the file takes no writes: see the log of the server',
        ),
      )
    }
    return findings
  }
  if (is_pooled) {
    findings.push(
      is.warning(
        'a pooler keeps no session for a connection: work of other servers is found by polling',
        'set SVC_DATABASE_DIRECT_URL to the database without the pooler',
      ),
    )
  }
  const required: [name: string, value: string, risk: string][] = [
    ['fsync', 'on', 'a power cut loses requests that were answered with 201'],
    ['full_page_writes', 'on', 'a power cut can leave torn pages'],
    [
      'data_sync_retry',
      'off',
      'after a failed flush PostgreSQL continues, and a later power cut loses requests that were answered with 201',
    ],
  ]
  for (const [name, value, risk] of required) {
    if (settings[name] === value) continue
    findings.push(is.error(`${name} is ${settings[name]}: ${risk}`, `set ${name} = ${value}`))
  }
  if (settings.data_checksums === 'off') {
    findings.push(
      is.warning(
        'data checksums are off: damage of the disk is not detected',
        'stop PostgreSQL and run pg_checksums --enable',
      ),
    )
  }
  if (settings.autovacuum === 'off') {
    findings.push(
      is.warning('autovacuum is off: the queues become slower and slower', 'set autovacuum = on'),
    )
  }
  if (Number(settings.max_connections) < CONNECTIONS_MIN) {
    findings.push(
      is.warning(
        `max_connections is ${settings.max_connections}; each server of svc uses 18`,
        `set max_connections to ${CONNECTIONS_MIN} or more`,
      ),
    )
  }
  for (const { month, command } of moving) {
    findings.push(
      is.warning(
        `the ${command}ment of ${month} runs now or was interrupted: until its end no recipient can be erased, and no ledger entry is folded`,
        `run svc partitions ${command} ${month} to continue it`,
      ),
    )
  }
  return [...findings, ...partitionFindings(partitions, now)]
}

/** Sends go on without a partition for their month, but the default partition grows and cannot be removed by month. */
function partitionFindings(tables: NonNullable<DatabaseFacts['partitions']>, now: Date): Finding[] {
  const is = findingsOf('database')
  const nextMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
  const add = 'run svc partitions add as the role that owns the tables'
  return tables.flatMap(({ table, is_partitioned, partitions, default_rows, bound }) => {
    const findings: Finding[] = []
    const ends = partitions.flatMap(({ until }) => until ?? [])
    const last = ends.at(-1)
    if (is_partitioned && (last === undefined || last <= nextMonth)) {
      findings.push(is.warning(`${table} has no partition for the next month`, add))
    }
    if (default_rows > 0) {
      findings.push(
        is.warning(`${default_rows} rows of ${table} are in the default partition`, add),
      )
    }
    if (bound) {
      findings.push(
        is.warning(
          `a change of ${bound.holder} was interrupted: it refuses rows from ${bound.until.toISOString()} on`,
          'run svc partitions enable again',
        ),
      )
    }
    return findings
  })
}

function clockFindings({ clock_off_ms, newest_at }: DatabaseFacts, ours: Date): Finding[] {
  const is = findingsOf('clock')
  const off_ms = Math.abs(clock_off_ms)
  const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
  const advice = 'synchronize both machines with NTP: timedatectl set-ntp true'
  if (off_ms > CLOCK_WRONG_MS) {
    return [
      is.error(`this machine's clock and the database's differ by ${seconds(off_ms)}`, advice),
    ]
  }
  if (off_ms > CLOCK_OFF_MS) {
    return [
      is.warning(`this machine's clock and the database's differ by ${seconds(off_ms)}`, advice),
    ]
  }
  const ahead_ms = (newest_at?.getTime() ?? 0) - ours.getTime()
  if (ahead_ms > CLOCK_OFF_MS) {
    return [
      is.error(
        `the last entry was booked ${seconds(ahead_ms)} in the future: this clock is slow now, or was fast then`,
        advice,
      ),
    ]
  }
  return [is.ok('agrees with the database')]
}

function faultFindings(faults: QueueFaults): Finding[] {
  const is = findingsOf('queue')
  const report = 'please report it with the output of svc doctor --json; a restore is not needed'
  const rows = (n: number, queue: string, one: string) =>
    `${counted(n, 'row')} of the ${queue} queue ${n === 1 ? 'has' : 'have'} no ${one}`
  const texts: Record<keyof QueueFaults, [fault: (n: number) => string, advice: string]> = {
    messages_gone: [(n) => rows(n, 'message', 'message'), report],
    deliveries_gone: [(n) => rows(n, 'delivery', 'delivery'), report],
    leases_ahead: [
      (n) =>
        `${counted(n, 'row')} ${n === 1 ? 'is' : 'are'} claimed for more than an hour: a clock was fast at the claim`,
      'synchronize this clock with NTP; a running service releases such rows within seconds, else the next start',
    ],
    counts_differ: [
      (n) =>
        n === 1
          ? '1 total of a list differs from the list'
          : `${counted(n, 'total')} of lists differ from the lists`,
      report,
    ],
  }
  return (Object.keys(texts) as (keyof QueueFaults)[]).flatMap((name) => {
    const [fault, advice] = texts[name]
    return faults[name] > 0 ? [is.error(fault(faults[name]), advice)] : []
  })
}

function isOlder(version: string, minimums: readonly number[]): boolean {
  const parts = version.split('.').map(Number)
  for (const [i, minimum] of minimums.entries()) {
    const part = parts[i] ?? 0
    if (part !== minimum) return part < minimum
  }
  return false
}

/** Checks that the ledger is consistent. `apart`: reads it in a thread. */
export async function checkLedger(
  url: string,
  { thorough, apart = false }: { thorough: boolean; apart?: boolean },
): Promise<Finding[]> {
  const is = findingsOf('ledger')
  const { verifyLedger, verifyLedgerApart } = await import('@svc/core/operate')
  const verify = apart ? verifyLedgerApart : verifyLedger
  try {
    const { ok, entries, workspaces, differences, has_more } = await verify(url, {
      fast: !thorough,
    })
    if (ok) {
      return [
        is.ok(
          `consistent: ${counted(entries, 'entry', 'entries')} of ${counted(workspaces, 'workspace')}`,
        ),
      ]
    }
    const [first] = differences
    const number = `${has_more ? 'more than ' : ''}${counted(differences.length, 'difference')}`
    return [
      is.error(
        `inconsistent: ${number}, the first in workspace ${first?.workspace_id} (${first?.check})`,
        'svc ledger verify lists them; change nothing by hand, make a copy with svc backup, and report them',
      ),
    ]
  } catch (error) {
    return [is.error(reasonOf(error), 'svc ledger verify')]
  }
}
