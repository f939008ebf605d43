import { existsSync } from 'node:fs'
import type { Setting } from '@svc/server/settings'
import { holdsSecret, maskedText } from '@svc/server/settings'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { openQuestions } from '../input/question.ts'
import { usage } from '../process/failure.ts'
import { configPath } from '../settings/config-file.ts'
import { pathFrom } from '../settings/data-folder.ts'
import { askChoices, CHOICES, checkChoice } from '../settings/init-choices.ts'
import { type ListenOptions, withListening } from '../settings/listen-options.ts'
import { settingOf } from '../settings/setting-texts.ts'
import { writeConfigFile } from '../settings/write-config-file.ts'

interface InitOptions extends ListenOptions {
  publicUrl?: string
  trustProxy?: string
  signupCredits?: string
  yes?: boolean
  force?: boolean
  withSecrets?: boolean
}

/** The chosen values; the key is the environment variable. */
type Chosen = ReadonlyMap<string, string>

/** Adds `svc init`: writes a configuration file. */
export function addInit(program: Command, context: Context): void {
  const command = withListening(
    program
      .command('init')
      .summary('ask for the main settings and write a configuration file')
      .description(
        `Asks a few questions, writes the answers to svc.config.json (or to the file of --config), and shows their meaning and
the next steps. An option answers its question; --yes asks nothing and keeps the defaults. Secrets are not written to the
file: set them in the environment, or use --with-secrets.`,
      ),
  )
    .option('--public-url <url>', settingOf('SVC_PUBLIC_URL').summary)
    .option('--trust-proxy <list>', settingOf('SVC_TRUST_PROXY').summary)
    .option('--signup-credits <n>', settingOf('SVC_SIGNUP_CREDITS').summary)
    .option('--with-secrets', 'write secrets to the file too')
    .option('--force', 'replace an existing file')
    .option('--yes', 'ask nothing and keep the defaults')
    .action((options: InitOptions) => init(context, program, options))
  withExamples(
    command,
    'svc init',
    'svc init --yes --port 8080 --data-dir /var/lib/svc --public-url https://svc.example.com',
  )
}

async function init(
  { io, output }: Context,
  program: Command,
  options: InitOptions,
): Promise<void> {
  const { config } = program.opts<{ config?: string }>()
  const { path } = configPath(io, config)
  const shown = pathFrom(io.cwd, path)
  if (!options.yes && !io.stdin.isTTY) {
    throw usage('stdin is not a terminal: add --yes, and options for the settings to change')
  }
  if (existsSync(path) && !options.force) {
    if (options.yes) throw usage(`${shown} exists: --force replaces it`)
    await confirm(io, `${shown} exists. Replace it?`)
  }
  const preset = await choicesOf(options)
  const { chosen, keepSecrets } = options.yes
    ? { chosen: preset, keepSecrets: options.withSecrets === true }
    : await askQuestions(io, preset, options)
  const { SETTINGS } = await import('@svc/server/settings')
  const all = SETTINGS.flatMap((setting) => {
    const text = chosen.get(setting.env)
    return text === undefined ? [] : [{ setting, text }]
  })
  const isOmitted = ({ setting, text }: { setting: Setting; text: string }) =>
    !keepSecrets && holdsSecret(setting, text)
  const written = all.filter((each) => !isOmitted(each))
  const omitted = all.filter(isOmitted)
  await writeConfigFile(path, shown, written, io)
  const svc = io.invocation ?? 'svc'
  if (output.isJson()) {
    return output.document({
      config_file: shown,
      written: written.map(({ setting }) => setting.key),
      to_set: omitted.map(({ setting }) => setting.env),
    })
  }
  output.line(`${output.style('green', '✓')} Wrote ${shown}.`)
  output.line()
  output.fields(
    written.map(({ setting, text }) => [
      setting.key,
      `${maskedText(setting, text)}  (${CHOICES.find(({ env }) => env === setting.env)?.meaning})`,
    ]),
  )
  output.line()
  if (omitted.length > 0) {
    output.line('Secrets that are not in the file; set them in the environment of the service:')
    for (const { setting, text } of omitted) {
      output.line(`  ${setting.env}=${maskedText(setting, text)}`)
    }
    output.line()
  }
  output.line('Next:')
  for (const line of nextSteps(svc)) output.line(`  ${line}`)
}

function nextSteps(svc: string): string[] {
  return [
    `${svc} config check        checks the file`,
    `${svc} serve               runs the service with it`,
    `${svc} config show         lists all settings, for the file or the environment`,
  ]
}

/** Reads and checks the values of the options. */
async function choicesOf(options: InitOptions): Promise<Chosen> {
  const chosen = new Map<string, string>()
  for (const choice of CHOICES) {
    const text = options[choice.option as keyof InitOptions] as string | undefined
    if (text === undefined) continue
    if (text.trim() === '') throw usage(`${flagOf(choice)} has no value`)
    const fault = await checkChoice(choice, text, chosen)
    if (fault !== null) throw usage(fault)
    chosen.set(choice.env, text.trim())
  }
  return chosen
}

/** The option as the user types it. */
function flagOf({ option }: { option: string }): string {
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

async function askQuestions(
  io: Context['io'],
  preset: Chosen,
  { withSecrets }: InitOptions,
): Promise<{ chosen: Chosen; keepSecrets: boolean }> {
  const questions = openQuestions(io)
  try {
    return await askChoices(questions, preset, {
      print: (text) => io.stderr.write(`${text}\n`),
      withSecrets: withSecrets === true,
    })
  } finally {
    questions.close()
  }
}
