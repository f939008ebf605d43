import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SHELLS } from '../src/commands/completion.ts'
import { allCommands } from './commands-in.ts'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const cwd = folder.path

beforeAll(async () => {
  for (const shell of SHELLS) {
    const { stdout } = await svc(['completion', shell])
    writeFileSync(join(cwd, `svc.${shell}`), stdout)
  }
  mkdirSync(join(cwd, 'files'))
  writeFileSync(join(cwd, 'files', 'a b.csv'), '')
})

afterAll(() => folder.remove())

const has = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0
const titleOf = (shell: string) => (has(shell) ? shell : `${shell} (not installed)`)

/** The completions of bash for the last word. */
function bash(...words: string[]): string[] {
  const script = `source ./svc.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc; printf '%s\\n' "\${COMPREPLY[@]}"`
  const output = execFileSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    cwd,
    encoding: 'utf8',
  })
  return output.split('\n').filter(Boolean)
}

/** The completions of bash for the last word of each line, in one process. */
function bashOfEach(lines: readonly string[][]): string[][] {
  const script = `source ./svc.bash
while read -r -a COMP_WORDS; do
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _svc; printf '%s\\n' "\${COMPREPLY[*]}"
done`
  const output = execFileSync('bash', ['--norc', '-c', script], {
    cwd,
    encoding: 'utf8',
    input: lines.map((words) => `${words.join(' ')}\n`).join(''),
  })
  return output.split('\n').map((line) => line.split(' '))
}

/** The completions of fish for a line. */
function fish(line: string): string[] {
  const script = `source ./svc.fish; complete -C ${JSON.stringify(line)}`
  const output = execFileSync('fish', ['--no-config', '-c', script], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, HOME: cwd },
  })
  return output.split('\n').flatMap((each) => each.split('\t', 1)[0] || [])
}

/** A line in an interactive zsh after Tab. */
function zsh(line: string): string {
  const script = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source ./svc.zsh; svc() { print -r -- "GOT($*)"; }; print REA""DY'
zpty -r shell output '*READY*'
zpty -w -n shell ${JSON.stringify(line)}$'\\t'
zpty -w -n shell $'\\n'
zpty -r shell output '*GOT\\([^$]*\\)*'
print -r -- "$output"
zpty -d shell`
  const output = execFileSync('zsh', ['-f', '-c', script], {
    cwd,
    encoding: 'utf8',
    timeout: 20_000,
  })
  return /GOT\(([^)]*)\)/.exec(output)?.[1]?.trim() ?? output
}

describe('bash', () => {
  test('completes commands, options, choices and files', () => {
    expect(bash('svc', 'mess')).toEqual(['messages'])
    expect(bash('svc', 'profiles', '')).toEqual(['add', 'list', 'use', 'remove'])
    expect(bash('svc', 'send', '--chan')).toEqual(['--channel'])
    expect(bash('svc', 'send', '--channel', 'w')).toEqual(['whatsapp'])
    expect(bash('svc', 'completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(bash('svc', 'import', 'files/')).toEqual(['files/a b.csv'])
    expect(bash('svc', 'serve', '--config', 'svc.b')).toEqual(['svc.bash'])
  })

  test('distinguishes the value of an option from a command', () => {
    expect(bash('svc', '--config', 'send', 'mess')).toEqual(['messages'])
    expect(bash('svc', 'send', '--to', 'messages', '--chan')).toEqual(['--channel'])
    expect(bash('svc', 'send', '--to', '')).toEqual([])
    expect(bash('svc', '--json', 'config', 's')).toEqual(['show'])
  })

  test('knows every command and every option', () => {
    const all = allCommands()
    const offeredNames = bashOfEach(all.map(({ names }) => ['svc', ...names]))
    const offeredOptions = bashOfEach(all.map(({ names }) => ['svc', ...names, '--']))
    for (const [i, { names, command }] of all.entries()) {
      expect(offeredNames[i], names.join(' ')).toContain(names.at(-1))
      const options = command.options.map(({ long }) => long)
      expect(offeredOptions[i], names.join(' ')).toEqual(
        expect.arrayContaining([...options, '--json', '--help']),
      )
    }
  })
})

describe.runIf(has('fish'))(titleOf('fish'), () => {
  test('completes commands, options, choices and files', () => {
    expect(fish('svc mess')).toEqual(['messages'])
    expect(fish('svc profiles ')).toEqual(expect.arrayContaining(['add', 'list', 'use', 'remove']))
    expect(fish('svc send --chan')).toEqual(['--channel'])
    expect(fish('svc send --channel w')).toEqual(['whatsapp'])
    expect(fish('svc import svc.f')).toEqual(['svc.fish'])
    expect(fish('svc --config x messages tim')).toEqual(['timeline'])
  })
})

describe.runIf(has('zsh'))(titleOf('zsh'), () => {
  test('completes commands, options and choices', () => {
    expect(zsh('svc messages tim')).toBe('messages timeline')
    expect(zsh('svc send --chan')).toBe('send --channel')
    expect(zsh('svc send --channel wh')).toBe('send --channel whatsapp')
    expect(zsh('svc --config x mess')).toBe('--config x messages')
  })
})

test.each(SHELLS)('prints the script for %s as one document with --json', async (shell) => {
  const { script } = await svcJson<{ script: string }>(['completion', shell])
  expect(script).toContain(shell)
})

test('exits with 2 for an unknown shell', async () => {
  const { code, stderr } = await svc(['completion', 'tcsh'])
  expect(code).toBe(2)
  expect(stderr).toContain('bash, zsh, fish')
})
