import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { addAudit } from './commands/audit.ts'
import { addBackup, addRestore } from './commands/backup.ts'
import { addBilling } from './commands/billing.ts'
import { addBroadcasts } from './commands/broadcasts.ts'
import { addBulk } from './commands/bulk.ts'
import { addCompact } from './commands/compact.ts'
import { addCompletion } from './commands/completion.ts'
import { addConfig } from './commands/config.ts'
import { addContacts } from './commands/contacts.ts'
import { addCredits } from './commands/credits.ts'
import { addDev } from './commands/dev.ts'
import { addDoctor } from './commands/doctor.ts'
import { addDomains } from './commands/domains.ts'
import { addInit } from './commands/init.ts'
import { addKeys } from './commands/keys.ts'
import { addLedger } from './commands/ledger.ts'
import { addMembers } from './commands/members.ts'
import { addMessages } from './commands/messages.ts'
import { addMigrate } from './commands/migrate.ts'
import { addExport, addImport } from './commands/move.ts'
import { addOperators } from './commands/operators.ts'
import { addPartitions } from './commands/partitions.ts'
import { addPauseAll, addResumeAll } from './commands/pause.ts'
import { addProfiles } from './commands/profiles.ts'
import { addProviders } from './commands/providers.ts'
import { addRecipients } from './commands/recipients.ts'
import { addSecrets } from './commands/secrets.ts'
import { addSegments } from './commands/segments.ts'
import { addSend } from './commands/send.ts'
import { addServe } from './commands/serve.ts'
import { addSuppressions } from './commands/suppressions.ts'
import { addTemplates } from './commands/templates.ts'
import { addTop } from './commands/top.ts'
import { addVerify } from './commands/verify.ts'
import { addWebhooks } from './commands/webhooks.ts'
import { addWorkspaces } from './commands/workspaces.ts'
import { type Context, withExamples } from './context.ts'
import { usage } from './process/failure.ts'
import type { ProcessIo } from './process/process-io.ts'
import { withConfigFile, withOrigins } from './settings/setting-sources.ts'
import { createOutput } from './show/output.ts'

const HELP_WIDTH_MAX = 100

type AddCommand = (program: Command, context: Context) => void

/** The commands under each heading of the help. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, AddCommand>>>> = {
  'Run the service:': {
    dev: addDev,
    serve: addServe,
    init: addInit,
    config: addConfig,
  },
  'Use it:': {
    send: addSend,
    bulk: addBulk,
    messages: addMessages,
    templates: addTemplates,
    broadcasts: addBroadcasts,
    verify: addVerify,
    contacts: addContacts,
    suppressions: addSuppressions,
    webhooks: addWebhooks,
    profiles: addProfiles,
  },
  'Operate it, on its database:': {
    top: addTop,
    operators: addOperators,
    workspaces: addWorkspaces,
    members: addMembers,
    keys: addKeys,
    domains: addDomains,
    credits: addCredits,
    billing: addBilling,
    providers: addProviders,
    recipients: addRecipients,
    ledger: addLedger,
    audit: addAudit,
    doctor: addDoctor,
    secrets: addSecrets,
    backup: addBackup,
    restore: addRestore,
    compact: addCompact,
    partitions: addPartitions,
    pause: addPauseAll,
    resume: addResumeAll,
    migrate: addMigrate,
    export: addExport,
    import: addImport,
  },
  'Check, without a server:': {
    segments: addSegments,
  },
  'Set up the shell:': {
    completion: addCompletion,
  },
}

/**
 * Runs the command of `argv` (without node and script) and returns its exit code: 0 for success, or an `ExitCode`. It
 * never throws and never ends the process.
 */
export async function run(argv: readonly string[], io: ProcessIo): Promise<number> {
  const isHelp = argv[0] === 'help'
  const words = isHelp ? argv.slice(1) : argv
  const { program, context } = createProgram(io, words)
  const { output } = context
  try {
    await program.parseAsync(isHelp ? helpArguments(program, words) : words, { from: 'user' })
    return 0
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) {
      return output.failure(withOrigins(thrown, context.io))
    }
    if (thrown.exitCode === 0) return 0
    const error = withSubcommands(thrown, program)
    const help = `${namesOf(calledCommand(program, words)).join(' ')} --help`
    if (error.code !== 'commander.help') return output.failure(error, `${help} shows how`)
    // The help was shown instead of an error.
    return output.isJson() ? output.failure(usage(`name a command: ${help} lists them`)) : 2
  }
}

/**
 * Creates the command that `argv` begins with, or else all commands, and their context. The configuration file is read
 * just before a command runs.
 */
export function createProgram(
  io: ProcessIo,
  argv: readonly string[] = [],
): { program: Command; context: Context } {
  const program = new StrictCommand('svc')
  const output = createOutput(io, () => program.opts().json === true)
  const context = { io, output }
  prepare(program, context, onlyCommand(argv))
  program.hook('preAction', async (_, command) => {
    if (NEEDS_NO_SETTINGS.includes(namesOf(command)[1] ?? '')) return
    const { config } = program.opts<{ config?: string }>()
    context.io = await withConfigFile(io, config, output.note)
  })
  return { program, context }
}

/** A command that reports an unknown option before a missing one: the missing option may be the misspelt one. */
class StrictCommand extends Command {
  override createCommand(name?: string): Command {
    return new StrictCommand(name)
  }

  override parseOptions(argv: string[]): ReturnType<Command['parseOptions']> {
    const parsed = super.parseOptions(argv)
    const [first] = parsed.unknown
    const isHelp = parsed.unknown.some((word) => word === '-h' || word === '--help')
    // The unknown options of a group may belong to its commands.
    if (this.commands.length > 0 || first === undefined || isHelp) return parsed
    return this.#unknownOption(first)
  }

  /** The parser's own refusal, which suggests a similar option. Its types leave it out. */
  #unknownOption(flag: string): never {
    return (this as unknown as { unknownOption(flag: string): never }).unknownOption(flag)
  }
}

/** Commands that run even if the configuration file is invalid. */
const NEEDS_NO_SETTINGS = ['init', 'profiles', 'completion', 'segments']

/** The first argument, if it is a command that needs no other command. Later arguments may be values of options. */
function onlyCommand([first = '']: readonly string[]): string | undefined {
  const isCommand = Object.values(COMMANDS).some((commands) => Object.hasOwn(commands, first))
  return isCommand && first !== 'completion' ? first : undefined
}

/** The command that the arguments name, or its nearest parent. */
function calledCommand(program: Command, argv: readonly string[]): Command {
  let command = program
  for (const argument of argv) {
    const next = command.commands.find((each) => each.name() === argument)
    if (next) command = next
    else if (!argument.startsWith('-')) break
  }
  return command
}

/**
 * The arguments of `svc help <words>`: `--help` of the command that the words name. Words that name no command stay as
 * they are, so that the parser reports them.
 */
function helpArguments(program: Command, words: readonly string[]): readonly string[] {
  const command = calledCommand(program, words)
  const names = namesOf(command).slice(1)
  const isUnknown = words.filter((word) => !word.startsWith('-')).length > names.length
  return isUnknown && command.commands.length > 0 ? words : [...names, '--help']
}

/** More groups with a subcommand of one name, such as `list`, are no help. */
const SUGGESTED_MAX = 3

/** Adds the commands with the unknown word as subcommand to its error: `svc tail` suggests `messages tail`. */
function withSubcommands(error: CommanderError, program: Command): CommanderError {
  if (error.code !== 'commander.unknownCommand') return error
  const [, word] = /unknown command '(.*)'/.exec(error.message) ?? []
  const named = program.commands
    .filter(({ commands }) => commands.some((command) => command.name() === word))
    .map((group) => `${group.name()} ${word}`)
  if (named.length === 0 || named.length > SUGGESTED_MAX) return error
  const [text = ''] = error.message.split('\n')
  const suggestion = `(Did you mean ${named.join(', or ')}?)`
  return new CommanderError(error.exitCode, error.code, `${text}\n${suggestion}`)
}

/** The words that the user types to call a command; the first word is `svc`. */
function namesOf(command: Command): string[] {
  const names = [command.name()]
  for (let parent = command.parent; parent; parent = parent.parent) names.unshift(parent.name())
  return names
}

function prepare(program: Command, context: Context, only: string | undefined): void {
  const { io, output } = context
  const { stdout, stderr } = io
  program
    .description('Self-hosted messaging: SMS, WhatsApp, e-mail and voice behind one API.')
    .version(version(), '-v, --version', 'print the version')
    .option('--json', 'print one JSON document, errors on stderr as {"error","message"}')
    .option('--config <file>', 'the configuration file (default: SVC_CONFIG, or svc.config.json)')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .configureHelp({
      showGlobalOptions: true,
      // Join the lines of the source, but keep the blank lines between paragraphs.
      commandDescription: (command) => command.description().replaceAll(/(?<!\n)\n(?![\n ])/g, ' '),
      visibleGlobalOptions: (command) =>
        command === program ? [] : program.options.filter(({ long }) => long !== '--version'),
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => {
        if (!output.isJson()) stderr.write(text)
      },
      // `run` reports the error.
      outputError: () => {},
      getOutHelpWidth: () => Math.min(stdout.columns ?? HELP_WIDTH_MAX, HELP_WIDTH_MAX),
      getErrHelpWidth: () => Math.min(stderr.columns ?? HELP_WIDTH_MAX, HELP_WIDTH_MAX),
    })
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading)
    for (const [name, add] of Object.entries(commands)) {
      if (name === (only ?? name)) add(program, context)
    }
  }
  withExamples(
    program,
    'svc dev',
    'svc send --to +15005550006 --text "Hello" --wait',
    'svc send --help',
  )
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
