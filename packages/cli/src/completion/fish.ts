import { type CompletedCommand, type CompletedOption, optionsWithValue } from './tree.ts'

/** The completion script for fish. */
export function fishScript(commands: readonly CompletedCommand[]): string {
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
              .map(({ path }) => quoted(path))
              .join(' ')}
                set at "$at $word"
            case ${commands.flatMap(optionsWithValue).map(quoted).join(' ')}
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
  const begin = `complete -c svc -n ${quoted(`__svc_at "${path}"`)}`
  return [
    ...commands.map(({ name, summary }) => `${begin} -a ${name} -d ${quoted(summary)}`),
    ...(choices.length > 0 ? [`${begin} -a ${quoted(choices.join(' '))}`] : []),
    ...(takes_file ? [`${begin} -F`] : []),
    ...options.map((option) => `${begin} ${optionOf(option)}`),
  ]
}

function optionOf({ names, summary, takes_value, choices, takes_file }: CompletedOption): string {
  const flags = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  )
  const value = takes_value ? [takes_file ? '-r -F' : '-x'] : []
  const words = choices.length > 0 ? [`-a ${quoted(choices.join(' '))}`] : []
  return [...flags, ...value, ...words, `-d ${quoted(summary)}`].join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
