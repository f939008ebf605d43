import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { holdsSecret, maskedText, type Setting } from '@svc/server/settings'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { confirm, openQuestions, type Questions } from '../input/prompts.ts'
import { misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { configPath } from '../settings/config-file.ts'
import { pathFrom } from '../settings/data-folder.ts'
import { replaceFile } from '../settings/replace-file.ts'
import { type ListenOptions, withListening } from '../settings/service-options.ts'
import { defaultOf, settingOf } from '../settings/setting-names.ts'

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

/** Writes a configuration file atomically. If it contains a secret, only its owner can read it. */
async function writeConfigFile(
  path: string,
  shown: string,
  settings: readonly { setting: Setting; text: string }[],
  { cwd }: Pick<ProcessIo, 'cwd'>,
): Promise<void> {
  const folder = dirname(path)
  const members = settings.map(({ setting, text }) => [
    setting.key,
    jsonOf(setting, text, { cwd, folder }),
  ])
  const isSecret = settings.some(({ setting, text }) => holdsSecret(setting, text))
  try {
    const { makeFolder } = await import('@svc/core/operate')
    makeFolder(folder, 0o777)
    const json = JSON.stringify(Object.fromEntries(members), null, 2)
    await replaceFile(path, `${json}\n`, { mode: isSecret ? 0o600 : 0o644 })
  } catch (error) {
    throw misconfigured(`cannot write ${shown}: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** The JSON value of a setting. Paths in `text` start at the current folder, and paths in JSON at the file's folder. */
function jsonOf(
  { kind }: Setting,
  text: string,
  { cwd, folder }: { cwd: string; folder: string },
): unknown {
  if (kind === 'path') return pathFrom(folder, resolve(cwd, text))
  const file = kind === 'database' && /^file:(?!\/\/)(.+)$/.exec(text)?.[1]
  if (file) return `file:${pathFrom(folder, resolve(cwd, file))}`
  if (kind === 'number' && String(Number(text)) === text) return Number(text)
  if (kind === 'boolean') return text === 'true'
  return kind === 'list' ? text.split(',').map((item) => item.trim()) : text
}

/** A question of `svc init`. */
interface Choice {
  env: string
  /** The name that commander gives to the option. */
  option: string
  question: string
  /** The meaning of the setting. `svc init` shows it when it writes the setting. */
  meaning: string
  /** Whether the earlier answers make the question needless. */
  isNeedless?: (chosen: ReadonlyMap<string, string>) => boolean
}

/** The questions of `svc init`, in this order. */
const CHOICES: readonly Choice[] = [
  {
    env: 'HOST',
    option: 'host',
    question: 'Which address should it listen on? (0.0.0.0: all addresses of this machine)',
    meaning: 'the address it listens on; only this machine reaches 127.0.0.1',
  },
  {
    env: 'PORT',
    option: 'port',
    question: 'Which port?',
    meaning: 'the port it listens on',
  },
  {
    env: 'SVC_DATABASE_URL',
    option: 'database',
    question: 'Which database? (Enter: a SQLite file in the data folder; or postgres://…)',
    meaning: 'the database',
  },
  {
    env: 'SVC_DATA_DIR',
    option: 'dataDir',
    question: 'Which data folder?',
    meaning: 'the folder of the database; back it up',
  },
  {
    env: 'SVC_PUBLIC_URL',
    option: 'publicUrl',
    question: 'What is its public address? (https://…; Enter: the address it listens on)',
    meaning: 'the base of links in mails and of the callback URLs for providers',
  },
  {
    env: 'SVC_TRUST_PROXY',
    option: 'trustProxy',
    question: 'Which networks are its reverse proxies in? (such as 10.0.0.0/8; Enter: none)',
    meaning: 'the proxies whose X-Forwarded-For is trusted for rate limits',
    isNeedless: (chosen) => !chosen.get('SVC_PUBLIC_URL')?.startsWith('https://'),
  },
  {
    env: 'SVC_SIGNUP_CREDITS',
    option: 'signupCredits',
    question: 'How many credits does a new workspace get?',
    meaning: 'the credits of a new workspace',
  },
]

/** Asks the questions that no option answers; repeats a question after an invalid answer. */
async function askChoices(
  questions: Questions,
  preset: ReadonlyMap<string, string>,
  { print, withSecrets }: { print: (text: string) => void; withSecrets: boolean },
): Promise<{ chosen: ReadonlyMap<string, string>; keepSecrets: boolean }> {
  const chosen = new Map(preset)
  for (const choice of CHOICES) {
    if (chosen.has(choice.env) || choice.isNeedless?.(chosen)) continue
    const text = await askChoice(questions, choice, { chosen, print })
    if (text !== '') chosen.set(choice.env, text)
  }
  if (withSecrets || !(await hasSecret(chosen))) return { chosen, keepSecrets: withSecrets }
  const answer = await questions.ask('Write the password of the database to the file?', 'n')
  return { chosen, keepSecrets: /^y(es)?$/i.test(answer) }
}

async function askChoice(
  questions: Questions,
  choice: Choice,
  { chosen, print }: { chosen: ReadonlyMap<string, string>; print: (text: string) => void },
): Promise<string> {
  for (;;) {
    const text = await questions.ask(choice.question, defaultOf(choice.env))
    const fault = text === '' ? null : await checkChoice(choice, text, chosen)
    if (fault === null) return text
    print(`  ${fault}`)
  }
}

/** Returns the fault that the reader of the settings finds in an answer; null for a valid answer. */
async function checkChoice(
  { env }: Choice,
  text: string,
  chosen: ReadonlyMap<string, string>,
): Promise<string | null> {
  const { readConfig } = await import('@svc/server')
  try {
    readConfig({ ...Object.fromEntries(chosen), [env]: text })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

async function hasSecret(chosen: ReadonlyMap<string, string>): Promise<boolean> {
  const { SETTINGS } = await import('@svc/server/settings')
  return SETTINGS.some((setting) => holdsSecret(setting, chosen.get(setting.env) ?? ''))
}
