import type { Config } from '@svc/server'
import type { Finding } from '@svc/server/doctor'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { explain, Failure } from '../process/failure.ts'
import { databaseUrl } from '../settings/service-options.ts'
import { counted, printable, type StyleName, wrapped } from '../show/text.ts'

interface DoctorOptions {
  offline?: boolean
  thorough?: boolean
}

const STYLES: Record<Finding['level'], StyleName> = {
  ok: 'green',
  skipped: 'dim',
  warning: 'yellow',
  error: 'red',
}

/** The columns before a message, and the fewest for a message, also on a narrow terminal. */
const INDENT_COLUMNS = 20
const MESSAGE_COLUMNS_MIN = 20
const DEFAULT_COLUMNS = 80

/** Adds `svc doctor`. */
export function addDoctor(program: Command, context: Context): void {
  const command = program
    .command('doctor')
    .summary('check the service, with advice for each problem')
    .description(
      `Checks the settings, the disk, the database and its settings, the clock, the ledger, the secrets, the queues, the providers,
the webhooks, the sending domains, paused one-time codes, the backups, the SMTP inlet and the running server, and gives advice for each problem. It changes nothing and
sends nothing; the server may run meanwhile. Exits with 1 after an error, and with 0 after warnings only.`,
    )
    .option(
      '--offline',
      'contact no other machine: no providers, no receivers, and not the public address',
    )
    .option(
      '--thorough',
      'check every page of the database and every row of the ledger, which may take long',
    )
    .action((options: DoctorOptions) => doctor(context, options))
  withExamples(command, 'svc doctor', 'svc doctor --offline --json')
}

async function doctor(context: Context, options: DoctorOptions): Promise<void> {
  const { output } = context
  const findings: Finding[] = []
  const report = (found: readonly Finding[]) => {
    findings.push(...found)
    if (!output.isJson()) for (const finding of found) show(context, finding)
  }
  for await (const found of checks(context, options)) report(found)
  const count = (level: Finding['level']) => findings.filter((one) => one.level === level).length
  const [errors, warnings] = [count('error'), count('warning')]
  if (output.isJson()) output.document({ ok: errors === 0, errors, warnings, findings })
  else output.line(`\n${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`)
  if (errors > 0) throw new Failure('unwell', `${counted(errors, 'error')} found`)
}

/** Runs the checks in order, because later checks need the results of earlier checks. */
async function* checks(
  { io }: Context,
  { offline = false, thorough = false }: DoctorOptions,
): AsyncGenerator<Finding[]> {
  const now = () => new Date()
  const { checkBackups, checkDatabase, checkFolder, checkProgram, checkReplicas } = await import(
    '@svc/server/doctor'
  )
  yield checkProgram(process.version)
  const { checkInlet, checkServer, checkSettings } = await import('./doctor-checks.ts')
  const { findings, config } = await checkSettings(io)
  yield findings
  if (config === null) return
  const url = databaseUrl(io, undefined)
  if (url.startsWith('file:')) {
    yield await findingsOrError('disk', () => checkFolder(url.slice('file:'.length)))
  }
  const database = await checkDatabase(url, { thorough, now })
  yield database.findings
  if (database.is_usable) {
    yield await findingsOrError('replica', () => checkReplicas(url, config))
  }
  if (database.is_usable) yield* serviceChecks({ io, config, url, offline, thorough })
  yield await findingsOrError('backups', () => checkBackups(config, now()))
  yield await findingsOrError('inlet', () => checkInlet(config, { now: now() }))
  yield await findingsOrError('server', () => checkServer(config, { offline }))
}

/** Returns the findings of a check. An error of the check becomes a finding, so that the other checks continue. */
async function findingsOrError(check: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run()
  } catch (error) {
    const advice = 'run as the user of the service, and with its settings'
    const { findingsOf } = await import('@svc/server/doctor')
    return [findingsOf(check).error(explain(error).message, advice)]
  }
}

/** The checks that need a usable database. */
async function* serviceChecks({
  io,
  config,
  url,
  offline,
  thorough,
}: {
  io: Context['io']
  config: Config
  url: string
  offline: boolean
  thorough: boolean
}): AsyncGenerator<Finding[]> {
  const {
    checkDomains,
    checkLedger,
    checkProviders,
    checkSecrets,
    checkVerifications,
    checkWebhooks,
    checkWork,
  } = await import('@svc/server/doctor')
  yield await checkLedger(url, { thorough })
  const [{ withCore }, { targetsOf }] = await Promise.all([
    import('../connect/operator.ts'),
    import('@svc/server'),
  ])
  const targets = targetsOf(config, { dev: false })
  yield await findingsOrError('database', () =>
    withCore(io, async (core) => [
      ...(await findingsOrError('secrets', () => checkSecrets(core))),
      ...(await findingsOrError('queue', () => checkWork(core))),
      ...(await findingsOrError('providers', () => checkProviders(core, { offline }))),
      ...(await findingsOrError('webhooks', () => checkWebhooks(core, { offline, targets }))),
      ...(await findingsOrError('domains', () => checkDomains(core))),
      ...(await findingsOrError('codes', () => checkVerifications(core))),
    ]),
  )
}

function show({ io, output }: Context, { check, level, message, advice }: Finding): void {
  const style = STYLES[level]
  if (!output.isTerminal) {
    output.row([level, check, message, advice ?? ''])
    return
  }
  const room = (io.stdout.columns ?? DEFAULT_COLUMNS) - INDENT_COLUMNS
  const linesOf = (text: string) => wrapped(printable(text), Math.max(room, MESSAGE_COLUMNS_MIN))
  const [first = '', ...more] = linesOf(message)
  output.row([{ text: level.padEnd(7), style }, check.padEnd(9), first])
  for (const text of more) output.row([' '.repeat(18), text])
  for (const text of advice === null ? [] : linesOf(advice)) {
    output.row([' '.repeat(18), { text, style: 'dim' }])
  }
}
