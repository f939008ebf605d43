import { type CompletedCommand, type CompletedOption, optionsWithValue } from './tree.ts'

/** The completion script for bash 3.2 and later. */
export function bashScript(commands: readonly CompletedCommand[]): string {
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
