import { type CompletedCommand, type CompletedOption, optionsWithValue } from './tree.ts'

/** The completion script for zsh. The user sources it, or installs it as `_svc` in a folder of `fpath`. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef svc
# Completion of svc for zsh. Load it with: source <(svc completion zsh)
_svc() {
  local at=svc i=2
  local -a entries
  while (( i < CURRENT )); do
    case "$at \${words[i]}" in
      ${pattern(commands.slice(1).map(({ path }) => path))}) at="$at \${words[i]}" ;;
      ${pattern(commands.flatMap(optionsWithValue))}) (( i++ )) ;;
    esac
    (( i++ ))
  done
  case "$at \${words[CURRENT-1]}" in
${commands.flatMap(valueArms).join('\n')}
  esac
  case "$at" in
${commands.map(entryArm).join('\n')}
  esac
  _describe 'svc' entries
}

if [ "\${funcstack[1]}" = _svc ]; then _svc "$@"; else compdef _svc svc; fi
`
}

function pattern(texts: readonly string[]): string {
  return texts.map((text) => quoted(text)).join('|')
}

function valueArms({ path, options }: CompletedCommand): string[] {
  return options
    .filter(({ takes_value }) => takes_value)
    .map(
      (option) =>
        `    ${pattern(option.names.map((name) => `${path} ${name}`))}) ${valueCode(option)}; return ;;`,
    )
}

function valueCode({ choices, takes_file, summary }: CompletedOption): string {
  if (choices.length > 0) return `compadd -- ${choices.map(quoted).join(' ')}`
  return takes_file ? '_files' : `_message ${quoted(summary)}`
}

function entryArm({ path, commands, options, choices, takes_file }: CompletedCommand): string {
  const names = options.flatMap((option) => option.names.map((name) => entry(name, option.summary)))
  const others = [
    ...commands.map(({ name, summary }) => entry(name, summary)),
    ...choices.map((choice) => entry(choice, choice)),
  ]
  const files = takes_file ? ' _files; return;' : ''
  return `    ${quoted(path)}) if [[ "\${words[CURRENT]}" == -* ]]; then entries=(${names.join(' ')}); else${files} entries=(${others.join(' ')}); fi ;;`
}

/** An entry of `_describe`: a word and its summary, separated by a colon. */
function entry(word: string, summary: string): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${summary}`)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
