import { Argument, type Command, type Option } from 'commander'
import { type Context, withExamples } from '../context.ts'

/** The completion script for fish. */
function fishScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of svc for fish. Load it with: svc completion fish | source
function __svc_at
    set -l words (commandline -opc)
    set -l at svc
    set -l skip 0
    for word in $words[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$at $word"
            case ${commands
              .slice(1)
              .map(({ path }) => fishQuoted(path))
              .join(' ')}
                set at "$at $word"
            case ${commands.flatMap(optionsWithValue).map(fishQuoted).join(' ')}
                set skip 1
        end
    end
    test "$at" = "$argv[1]"
end

complete -c svc -f
${commands.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, commands, options, choices, takes_file }: CompletedCommand): string[] {
  const begin = `complete -c svc -n ${fishQuoted(`__svc_at "${path}"`)}`
  return [
    ...commands.map(({ name, summary }) => `${begin} -a ${name} -d ${fishQuoted(summary)}`),
    ...(choices.length > 0 ? [`${begin} -a ${fishQuoted(choices.join(' '))}`] : []),
    ...(takes_file ? [`${begin} -F`] : []),
    ...options.map((option) => `${begin} ${optionOf(option)}`),
  ]
}

function optionOf({ names, summary, takes_value, choices, takes_file }: CompletedOption): string {
  const flags = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  )
  const value = takes_value ? [takes_file ? '-r -F' : '-x'] : []
  const words = choices.length > 0 ? [`-a ${fishQuoted(choices.join(' '))}`] : []
  return [...flags, ...value, ...words, `-d ${fishQuoted(summary)}`].join(' ')
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** The completion script for bash 3.2 and later. */
function bashScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of svc for bash. Load it with: source <(svc completion bash)
_svc() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at=svc i=1 words=
  while [ "$i" -lt "$COMP_CWORD" ]; do
    case "$at \${COMP_WORDS[i]}" in
${arm(commands.slice(1).map(({ path }) => path))} at="$at \${COMP_WORDS[i]}" ;;
${arm(commands.flatMap(optionsWithValue))} i=$((i + 1)) ;;
    esac
    i=$((i + 1))
  done
  COMPREPLY=()
  case "$at $prev" in
${commands.flatMap(valueArms).join('\n')}
  esac
  case "$at" in
${commands.map(wordArm).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}

_svc_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}

complete -F _svc svc
`
}

function arm(patterns: readonly string[]): string {
  return `      ${patterns.map((text) => `'${text}'`).join('|')})`
}

function valueArms({ path, options }: CompletedCommand): string[] {
  return options
    .filter(({ takes_value }) => takes_value)
    .map(
      (option) =>
        `${arm(option.names.map((name) => `${path} ${name}`))} ${valueCode(option)}; return ;;`,
    )
}

function valueCode({ choices, takes_file }: CompletedOption): string {
  if (choices.length > 0) return `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$cur"))`
  return takes_file ? '_svc_files "$cur"' : ':'
}

function wordArm({ path, commands, options, choices, takes_file }: CompletedCommand): string {
  const names = options.flatMap((option) => option.names).join(' ')
  const others = [...commands.map(({ name }) => name), ...choices].join(' ')
  const files = takes_file ? ' _svc_files "$cur"; return;' : ''
  return `${arm([path])} case "$cur" in -*) words='${names}' ;; *)${files} words='${others}' ;; esac ;;`
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

type Shell = keyof typeof SCRIPTS

/** Every shell with a completion script. */
export const SHELLS = Object.keys(SCRIPTS) as Shell[]

/** Adds `svc completion`: completion scripts for shells. */
export function addCompletion(program: Command, context: Context): void {
  const command = program
    .command('completion')
    .summary('print a completion script for a shell')
    .description(
      `Prints a script that completes commands, options and their choices in bash, zsh or fish. It starts no process while you
type. Load it in the startup file of your shell.`,
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) => {
      const script = SCRIPTS[shell](commandsOf(program))
      if (context.output.isJson()) context.output.document({ shell, script })
      else context.io.stdout.write(script)
    })
  withExamples(
    command,
    'source <(svc completion bash)',
    'svc completion zsh > ~/.zsh/completions/_svc',
    'svc completion fish > ~/.config/fish/completions/svc.fish',
  )
}

/** The data of a command that a completion script needs. */
interface CompletedCommand {
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
interface CompletedOption {
  /** All names of the option: `--to`, or `-H` and `--header`. */
  names: string[]
  summary: string
  takes_value: boolean
  choices: readonly string[]
  takes_file: boolean
}

/** The options of a command that take a value, each after the full command: `svc send --to`. */
function optionsWithValue({ path, options }: CompletedCommand): string[] {
  return options
    .filter(({ takes_value }) => takes_value)
    .flatMap(({ names }) => names.map((name) => `${path} ${name}`))
}

/** All commands of a program. The first one is the program itself. */
function commandsOf(program: Command): CompletedCommand[] {
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

/** The completion script for zsh. The user sources it, or installs it as `_svc` in a folder of `fpath`. */
function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef svc
# Completion of svc for zsh. Load it with: source <(svc completion zsh)
_svc() {
  local at=svc i=2
  local -a entries
  while (( i < CURRENT )); do
    case "$at \${words[i]}" in
      ${zshPattern(commands.slice(1).map(({ path }) => path))}) at="$at \${words[i]}" ;;
      ${zshPattern(commands.flatMap(optionsWithValue))}) (( i++ )) ;;
    esac
    (( i++ ))
  done
  case "$at \${words[CURRENT-1]}" in
${commands.flatMap(zshValueArms).join('\n')}
  esac
  case "$at" in
${commands.map(zshEntryArm).join('\n')}
  esac
  _describe 'svc' entries
}

if [ "\${funcstack[1]}" = _svc ]; then _svc "$@"; else compdef _svc svc; fi
`
}

function zshPattern(texts: readonly string[]): string {
  return texts.map((text) => zshQuoted(text)).join('|')
}

function zshValueArms({ path, options }: CompletedCommand): string[] {
  return options
    .filter(({ takes_value }) => takes_value)
    .map(
      (option) =>
        `    ${zshPattern(option.names.map((name) => `${path} ${name}`))}) ${zshValue(option)}; return ;;`,
    )
}

function zshValue({ choices, takes_file, summary }: CompletedOption): string {
  if (choices.length > 0) return `compadd -- ${choices.map(zshQuoted).join(' ')}`
  return takes_file ? '_files' : `_message ${zshQuoted(summary)}`
}

function zshEntryArm({ path, commands, options, choices, takes_file }: CompletedCommand): string {
  const names = options.flatMap((option) =>
    option.names.map((name) => zshEntry(name, option.summary)),
  )
  const others = [
    ...commands.map(({ name, summary }) => zshEntry(name, summary)),
    ...choices.map((choice) => zshEntry(choice, choice)),
  ]
  const files = takes_file ? ' _files; return;' : ''
  return `    ${zshQuoted(path)}) if [[ "\${words[CURRENT]}" == -* ]]; then entries=(${names.join(' ')}); else${files} entries=(${others.join(' ')}); fi ;;`
}

/** An entry of `_describe`: a word and its summary, separated by a colon. */
function zshEntry(word: string, summary: string): string {
  return zshQuoted(`${word.replaceAll(':', '\\:')}:${summary}`)
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
