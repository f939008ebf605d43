import cluster from 'node:cluster'
import { SETTING_GROUPS, SETTINGS, type Setting, shownSetting } from '@svc/server/settings'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { Failure } from '../process/failure.ts'
import { requestStop } from '../process/node-process.ts'
import { aborted, stopSignalOf } from '../process/process-io.ts'
import { settingsOf } from '../settings/data-folder.ts'
import {
  applyListenOptions,
  type ListenOptions,
  withListening,
} from '../settings/service-options.ts'
import { optionText, unknownVariables } from '../settings/setting-names.ts'

/** Adds `svc serve`: the service in production. */
export function addServe(program: Command, context: Context): void {
  const command = withListening(
    program
      .command('serve')
      .summary('run the service in production')
      .description(
        `Runs the service for production: without demo data, with all checks, and with a JSON log on stdout. SIGTERM stops it
after the requests in flight. On PostgreSQL, --processes auto uses all cores of this machine, and SIGHUP then replaces
the processes one by one, with new settings and a new version, without refusing a request. Settings come from options, then the environment, then svc.config.json. svc config show
lists the settings with their sources; svc init writes a configuration file.`,
      ),
  )
    .option('--processes <number>', optionText('SVC_PROCESSES'))
    .action((options: ListenOptions) => serve(context, options))
    .addHelpText('after', settingsText)
  withExamples(
    command,
    'svc serve --host 0.0.0.0 --data-dir /var/lib/svc',
    'svc serve --config /etc/svc/svc.config.json',
    'svc serve --processes auto',
    'svc workspaces create --name Example --email ops@example.com',
  )
}

/** The text with every setting of the service and its default, in groups. */
function settingsText(): string {
  const groups = Object.entries(SETTING_GROUPS).filter(([group]) => group !== 'client')
  const parts = groups.map(([group, title]) => {
    const rows = SETTINGS.filter((setting) => setting.group === group)
    return [`${title}:`, ...rows.map(lineOf)].join('\n')
  })
  return `\n${parts.join('\n\n')}`
}

function lineOf({ env, summary, default: value }: Setting): string {
  return `  ${env.padEnd(28)} ${summary}${value === null ? '' : ` (${value})`}`
}

async function serve(context: Context, options: ListenOptions): Promise<void> {
  const io = applyListenOptions(context, options)
  for (const warning of unknownVariables(io.env)) context.output.note(`Warning: ${warning}`)
  const stop = stopSignalOf(io, { needs_output: false })
  // `runProcesses` started this process if it is a worker of a cluster.
  const several = (io.env.SVC_PROCESSES?.trim() || '1') !== '1'
  if (several && !cluster.isWorker) {
    // The process that only starts the others does not load the server.
    const { runProcesses } = await import('@svc/server/processes')
    const code = await runProcesses({ env: settingsOf(io), stop })
    if (code === 0) return
    if (code !== null) throw new Failure('failed', 'the first process did not start', 1)
  }
  const { onProcessStop, readConfig, startServer } = await import('@svc/server')
  if (cluster.isWorker) onProcessStop(requestStop)
  const settings = SETTINGS.map((setting) => shownSetting(setting, io))
  const server = await startServer({ config: readConfig(settingsOf(io)), settings })
  await aborted(stop)
  await server.close()
}
