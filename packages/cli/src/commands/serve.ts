import { SETTING_GROUPS, SETTINGS, type Setting, shownSetting } from '@svc/server/settings'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { aborted, stopSignalOf } from '../process/process-io.ts'
import { settingsOf } from '../settings/data-folder.ts'
import {
  applyListenOptions,
  type ListenOptions,
  withListening,
} from '../settings/service-options.ts'
import { unknownVariables } from '../settings/setting-names.ts'

/** Adds `svc serve`: the service in production. */
export function addServe(program: Command, context: Context): void {
  const command = withListening(
    program
      .command('serve')
      .summary('run the service in production')
      .description(
        `Runs the service for production: without demo data, with all checks, and with a JSON log on stdout. SIGTERM stops it
after the requests in flight. Settings come from options, then the environment, then svc.config.json. svc config show
lists the settings with their sources; svc init writes a configuration file.`,
      ),
  )
    .action((options: ListenOptions) => serve(context, options))
    .addHelpText('after', settingsText)
  withExamples(
    command,
    'svc serve --host 0.0.0.0 --data-dir /var/lib/svc',
    'svc serve --config /etc/svc/svc.config.json',
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
  const { readConfig, startServer } = await import('@svc/server')
  const settings = SETTINGS.map((setting) => shownSetting(setting, io))
  const server = await startServer({ config: readConfig(settingsOf(io)), settings })
  await aborted(stop)
  await server.close()
}
