import { expect, test } from 'vitest'
import { allCommands, type FoundCommand, leafCommands } from './commands-in.ts'
import { svc } from './svc.ts'

const ALL = allCommands().map((found) => [found.names.join(' '), found] as const)
const LEAVES = leafCommands().map((found) => [found.names.join(' '), found] as const)

/** The names of commands that remove something, or stop an account. */
const DESTROYS = /\b(remove|delete|cancel|revoke|freeze|refund|restore|erase|purge)\b/

/** Options of every command. */
const EVERYWHERE = ['--json', '--config', '--help', '-h']

function examplesOf({ command }: FoundCommand): string[] {
  let help = ''
  command.configureOutput({
    writeOut: (text) => {
      help += text
    },
  })
  command.outputHelp()
  const [, examples = ''] = /\nExamples?:\n([\s\S]*)$/.exec(help) ?? []
  return examples.split(/^ {2}\$ /m).flatMap((text) => text.replaceAll(/\s+/g, ' ').trim() || [])
}

test('finds all commands', () => {
  expect(ALL.length).toBeGreaterThan(60)
  expect(LEAVES.length).toBeLessThan(ALL.length)
})

test.each(ALL)(
  'svc %s has a name of at most two words, a summary and a description',
  (_, { names, command }) => {
    expect(names.length).toBeLessThanOrEqual(2)
    for (const name of names) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/)
    expect(command.summary()).toMatch(/^[a-z][^\n]{5,80}[^.\n]$/)
    expect(command.description().length).toBeGreaterThan(command.summary().length / 2)
    expect(command.description()).toMatch(/^[A-Z][\s\S]*\.$/)
  },
)

test.each(ALL)('svc %s has valid examples', (_, found) => {
  const examples = examplesOf(found)
  expect(examples.length).toBeGreaterThan(0)
  const called = examples.flatMap((example) =>
    [...example.matchAll(/(?:^|[|(] ?)svc ([^|)]+)/g)].map(([, words = '']) => words.split(' ')),
  )
  expect(called.length).toBeGreaterThan(0)
  for (const words of called) {
    const named = commandOf(words)
    expect(named, words.join(' ')).toBeDefined()
    const known = named?.command.options.flatMap(({ short, long }) => [short, long]) ?? []
    for (const word of words.filter((each) => /^--?[a-z]/.test(each))) {
      expect([...known, ...EVERYWHERE], words.join(' ')).toContain(word)
    }
  }
})

function commandOf([first = '', second = '']: string[]): FoundCommand | undefined {
  const byName = new Map<string, FoundCommand>(ALL)
  return byName.get(`${first} ${second}`) ?? byName.get(first)
}

test.each(ALL)('svc %s has well-formed options', (_, { command }) => {
  for (const { long, short } of command.options) {
    expect(long).toMatch(/^--[a-z]+(-[a-z]+)*$/)
    expect(['-H', undefined]).toContain(short)
  }
})

const DESTRUCTIVE = LEAVES.filter(([name]) => DESTROYS.test(name))

test('finds the destructive commands', () => {
  const names = DESTRUCTIVE.map(([name]) => name)
  expect(names).toEqual(
    expect.arrayContaining([
      'keys revoke',
      'credits freeze',
      'billing refund',
      'messages cancel',
      'profiles remove',
    ]),
  )
})

test.each(DESTRUCTIVE)('svc %s has the option --yes', async (_, { command }) => {
  expect(command.options.some(({ long }) => long === '--yes')).toBe(true)
})

test.each(['keys revoke x', 'credits freeze --reason x', 'messages cancel x'])(
  'svc %s does nothing without a terminal or --yes',
  async (line) => {
    const { code, stdout, stderr } = await svc(line.split(' '))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe('svc: stdin is not a terminal: add --yes\n')
  },
)
