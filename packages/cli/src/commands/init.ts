import { existsSync } from 'node:fs'
import type { Setting } from '@svc/server/settings'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { openQuestions } from '../input/question.ts'
import { usage } from '../process/failure.ts'
import { configPath } from '../settings/config-file.ts'
import { pathFrom } from '../settings/data-folder.ts'
import { askChoices, CHOICES, checkChoice } from '../settings/init-choices.ts'
import { type ListenOptions, withListening } from '../settings/listen-options.ts'
import { holdsSecret, maskedText } from '../settings/masked.ts'
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

/** What was chosen, by variable. */
type Chosen = ReadonlyMap<string, string>

/** Adds `svc init`: writes a configuration file. */
export function addInit(program: Command, context: Context): void {
  const command = withListening(
    program
      .command('init')
      .summary('write a configuration file, asking what is to stand in it')
      .description(
        `Asks a few questions, writes the answers to svc.config.json (or to the file that --config names), and says what each
means and what to do next. What is given as an option is not asked; --yes asks nothing. Secrets are left to the environment
unless --with-secrets says otherwise.`,
      ),
  )
    .option('--public-url <url>', settingOf('SVC_PUBLIC_URL').summary)
    .option('--trust-proxy <list>', settingOf('SVC_TRUST_PROXY').summary)
    .option('--signup-credits <n>', settingOf('SVC_SIGNUP_CREDITS').summary)
    .option('--with-secrets', 'write secrets into the file too')
    .option('--force', 'replace a file that is there')
    .option('--yes', 'ask nothing: what is not given stays as it is by default')
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
    throw usage('no terminal to ask: give --yes, and as options what is not to be as by default')
  }
  if (existsSync(path) && !options.force) {
    if (options.yes) throw usage(`${shown} is there already: --force replaces it`)
    await confirm(io, `${shown} is there already. Replace it?`)
  }
  const given = await givenChoices(options)
  const { chosen, keepSecrets } = options.yes
    ? { chosen: given, keepSecrets: options.withSecrets === true }
    : await askedChoices(io, given, options)
  const { SETTINGS } = await import('@svc/server/settings')
  const all = SETTINGS.flatMap((setting) => {
    const text = chosen.get(setting.env)
    return text === undefined ? [] : [{ setting, text }]
  })
  const isLeftOut = ({ setting, text }: { setting: Setting; text: string }) =>
    !keepSecrets && holdsSecret(setting, text)
  const written = all.filter((each) => !isLeftOut(each))
  const left = all.filter(isLeftOut)
  await writeConfigFile(path, shown, written, io)
  const svc = io.invocation ?? 'svc'
  if (output.isJson()) {
    return output.document({
      config_file: shown,
      written: written.map(({ setting }) => setting.key),
      to_set: left.map(({ setting }) => setting.env),
    })
  }
  output.line(`${output.style('green', '✓')} ${shown} is written.`)
  output.line()
  output.fields(
    written.map(({ setting, text }) => [
      setting.key,
      `${maskedText(setting, text)}  (${CHOICES.find(({ env }) => env === setting.env)?.meaning})`,
    ]),
  )
  output.line()
  if (left.length > 0) {
    output.line('Not in the file, because it is secret; set it in the environment of the service:')
    for (const { setting, text } of left) {
      output.line(`  ${setting.env}=${maskedText(setting, text)}`)
    }
    output.line()
  }
  output.line('Next:')
  for (const line of nextSteps(svc)) output.line(`  ${line}`)
}

function nextSteps(svc: string): string[] {
  return [
    `${svc} config check        says whether it can be used`,
    `${svc} serve               runs the service with it`,
    `${svc} config show         lists every other setting, for the file or the environment`,
  ]
}

/** What the options say, checked. */
async function givenChoices(options: InitOptions): Promise<Chosen> {
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

/** As one types it. */
function flagOf({ option }: { option: string }): string {
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

async function askedChoices(
  io: Context['io'],
  given: Chosen,
  { withSecrets }: InitOptions,
): Promise<{ chosen: Chosen; keepSecrets: boolean }> {
  const questions = openQuestions(io)
  try {
    return await askChoices(questions, given, {
      tell: (text) => io.stderr.write(`${text}\n`),
      withSecrets: withSecrets === true,
    })
  } finally {
    questions.close()
  }
}
