import type { Command, Option } from 'commander'

/** The data of a command that a completion script needs. */
export interface CompletedCommand {
  /** The full command: `svc messages list`. */
  path: string
  /** Its subcommands with their summaries. */
  commands: { name: string; summary: string }[]
  options: CompletedOption[]
  /** The choices of its first argument; empty if it has none. */
  choices: readonly string[]
  takes_file: boolean
}

/** The data of an option that a completion script needs. */
export interface CompletedOption {
  /** All names of the option: `--to`, or `-H` and `--header`. */
  names: string[]
  summary: string
  takes_value: boolean
  choices: readonly string[]
  takes_file: boolean
}

/** The options of a command that take a value, each after the full command: `svc send --to`. */
export function optionsWithValue({ path, options }: CompletedCommand): string[] {
  return options
    .filter(({ takes_value }) => takes_value)
    .flatMap(({ names }) => names.map((name) => `${path} ${name}`))
}

/** All commands of a program. The first one is the program itself. */
export function commandsOf(program: Command): CompletedCommand[] {
  const globals = program.options.filter(({ long }) => long !== '--version')
  return described(program, program.name(), globals)
}

function described(command: Command, path: string, globals: readonly Option[]): CompletedCommand[] {
  const { parent, commands, registeredArguments } = command
  const [argument] = registeredArguments
  const options = parent === null ? command.options : [...command.options, ...globals]
  const own: CompletedCommand = {
    path,
    commands: commands.map((each) => ({ name: each.name(), summary: each.summary() })),
    options: [...options.map(describedOption), HELP],
    choices: argument?.argChoices ?? [],
    takes_file: argument !== undefined && isFile(argument.name()),
  }
  return [own, ...commands.flatMap((each) => described(each, `${path} ${each.name()}`, globals))]
}

const HELP: CompletedOption = {
  names: ['-h', '--help'],
  summary: 'show this help',
  takes_value: false,
  choices: [],
  takes_file: false,
}

function describedOption(option: Option): CompletedOption {
  const { short, long, description, argChoices, flags } = option
  return {
    names: [short, long].filter((name) => name !== undefined),
    summary: description,
    takes_value: option.required || option.optional,
    choices: argChoices ?? [],
    takes_file: isFile(flags),
  }
}

/** Whether the placeholder in the help names a file or a folder: `<file>`, `<folder>`. */
function isFile(name: string): boolean {
  return /\b(file|folder|path)\b/.test(name)
}
