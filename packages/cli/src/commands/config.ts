import { existsSync } from 'node:fs'
import type { SettingSource } from '@svc/server/settings'
import type { Command } from 'commander'
import { addressOf } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { configPath } from '../settings/config-file.ts'
import { pathFrom, settingsOf } from '../settings/data-folder.ts'

/** Adds `svc config`: shows and checks the settings. */
export function addConfig(program: Command, context: Context): void {
  const config = program
    .command('config')
    .summary('show and check the settings')
    .description(
      `Shows and checks the settings of svc serve and of the commands on the database. They come from the environment, then from
svc.config.json or the file of --config or SVC_CONFIG.`,
    )
  withExamples(config, 'svc config show', 'svc config check --config /etc/svc/svc.config.json')
  const show = config
    .command('show')
    .summary('show every setting with its source')
    .description('Shows the value of every setting and its source. Secrets are masked.')
    .option('--set', 'only settings that are set')
    .action((options: { set?: boolean }) => showConfig(context, program, options))
  withExamples(show, 'svc config show', 'svc config show --set --json')
  const check = config
    .command('check')
    .summary('check the settings as a start does')
    .description(
      'Checks the settings as svc serve does at its start. Exits with 2 and the reason when a setting is invalid.',
    )
    .action(() => checkConfig(context))
  withExamples(check, 'svc config check')
}

async function showConfig(
  { io, output }: Context,
  program: Command,
  { set }: { set?: boolean },
): Promise<void> {
  const { SETTINGS, shownSetting } = await import('@svc/server/settings')
  const shown = SETTINGS.map((setting) => shownSetting(setting, io)).filter(
    ({ source }) => !set || source !== 'default',
  )
  const { path } = configPath(io, program.opts<{ config?: string }>().config)
  const file = existsSync(path) ? pathFrom(io.cwd, path) : null
  if (output.isJson()) return output.document({ config_file: file, settings: shown })
  output.table(
    ['SETTING', 'VARIABLE', 'VALUE', 'FROM'],
    shown.map(({ key, env, value, source }) => [
      key,
      env,
      value ?? '',
      source === 'default'
        ? { text: source, style: 'dim' }
        : { text: source === 'file' ? (file ?? source) : source, style: 'green' },
    ]),
  )
  if (file === null) output.note('There is no configuration file here: svc init writes one.')
}

async function checkConfig({ io, output }: Context): Promise<void> {
  const [{ readConfig }, { SETTINGS, shownSetting }] = await Promise.all([
    import('@svc/server'),
    import('@svc/server/settings'),
  ])
  readConfig(settingsOf(io))
  const url = io.env.SVC_URL?.trim()
  if (url) addressOf(url)
  const sources = SETTINGS.map((setting) => shownSetting(setting, io).source)
  const count = (source: SettingSource) => sources.filter((each) => each === source).length
  const counts = { environment: count('environment'), file: count('file') }
  if (output.isJson()) return output.document({ ok: true, ...counts })
  output.line(
    `${output.style('green', '✓')} The settings are valid: ${counts.file} from the configuration file, ${counts.environment} from the environment.`,
  )
}
