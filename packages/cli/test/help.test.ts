import { describe, expect, test } from 'vitest'
import { svc } from './svc.ts'

const COMMANDS = [
  'dev',
  'serve',
  'init',
  'config',
  'config show',
  'config check',
  'profiles',
  'profiles add',
  'profiles list',
  'profiles use',
  'profiles remove',
  'completion',
  'send',
  'bulk',
  'bulk send',
  'bulk show',
  'bulk rejected',
  'bulk cancel',
  'bulk retry',
  'broadcasts',
  'broadcasts create',
  'broadcasts preview',
  'broadcasts list',
  'broadcasts show',
  'broadcasts pause',
  'broadcasts resume',
  'broadcasts cancel',
  'messages',
  'messages list',
  'messages show',
  'messages timeline',
  'messages tail',
  'messages received',
  'messages estimate',
  'messages cancel',
  'messages reschedule',
  'messages erase',
  'verify',
  'verify start',
  'verify check',
  'verify resend',
  'verify cancel',
  'verify list',
  'verify show',
  'verify stats',
  'verify allow',
  'verify limits',
  'contacts',
  'contacts list',
  'contacts add',
  'contacts show',
  'contacts update',
  'contacts delete',
  'contacts import',
  'contacts export',
  'suppressions',
  'suppressions list',
  'suppressions add',
  'suppressions remove',
  'webhooks',
  'webhooks listen',
  'webhooks trigger',
  'webhooks replay',
  'webhooks sign',
  'webhooks verify',
  'webhooks conformance',
  'webhooks list',
  'webhooks create',
  'webhooks show',
  'webhooks disable',
  'webhooks delete',
  'webhooks update',
  'webhooks enable',
  'webhooks health',
  'webhooks rotate-secret',
  'webhooks test',
  'webhooks deliveries',
  'webhooks delivery',
  'webhooks retry',
  'webhooks recover',
  'top',
  'operators',
  'operators add',
  'operators list',
  'operators remove',
  'operators reset',
  'workspaces',
  'workspaces create',
  'workspaces list',
  'workspaces quiet-hours',
  'members',
  'members list',
  'members invite',
  'members invitations',
  'members withdraw',
  'members role',
  'members remove',
  'members reset-second-factor',
  'keys',
  'keys create',
  'keys list',
  'keys revoke',
  'domains',
  'domains add',
  'domains list',
  'domains show',
  'domains verify',
  'domains rotate',
  'domains remove',
  'credits',
  'credits grant',
  'credits adjust',
  'credits show',
  'credits history',
  'credits terms',
  'credits freeze',
  'credits unfreeze',
  'billing',
  'billing purchases',
  'billing refund',
  'billing sync',
  'providers',
  'providers status',
  'providers pause',
  'providers resume',
  'providers test',
  'recipients',
  'recipients erase',
  'ledger',
  'ledger verify',
  'ledger export',
  'audit',
  'doctor',
  'secrets',
  'secrets status',
  'secrets encrypt',
  'secrets decrypt',
  'secrets discard',
  'backup',
  'restore',
  'compact',
  'partitions',
  'partitions status',
  'partitions enable',
  'partitions add',
  'partitions detach',
  'partitions attach',
  'pause',
  'resume',
  'migrate',
  'export',
  'import',
  'segments',
]

describe('help', () => {
  test('svc --help names every command', async () => {
    const { code, stdout, stderr } = await svc(['--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const name of COMMANDS.filter((each) => !each.includes(' '))) {
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
    }
  })

  test.each(COMMANDS)('svc %s --help has an example', async (name) => {
    const { code, stdout } = await svc([...name.split(' '), '--help'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Examples?:\n {2}\$ /m)
    expect(stdout).toContain('--json')
  })

  test('fills the lines of the terminal with a description', async () => {
    const { stdout } = await svc(['credits', 'adjust', '--help'])
    const [text = ''] = /(?<=\n\n)Corrects[\s\S]*?(?=\n\n)/.exec(stdout) ?? []
    const [first = '', second = ''] = text.split('\n')
    const [word = ''] = second.split(' ')
    expect(`${first} ${word}`.length).toBeGreaterThan(100)
  })

  test.each([
    [['help'], ['--help']],
    [
      ['help', 'send'],
      ['send', '--help'],
    ],
    [
      ['help', 'messages', 'tail'],
      ['messages', 'tail', '--help'],
    ],
    [
      ['help', 'credits'],
      ['credits', '--help'],
    ],
    [
      ['help', 'segments', 'text'],
      ['segments', '--help'],
    ],
  ])('svc %s prints the help of the command', async (argv, same) => {
    const help = await svc(argv)
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toMatch(/^Usage: svc/)
    expect(help).toEqual(await svc(same))
  })

  test.each([
    [['help', 'sned'], "unknown command 'sned' (Did you mean send?)"],
    [['help', 'keys', 'sned'], "unknown command 'sned'"],
    [['tail'], "unknown command 'tail' (Did you mean messages tail?)"],
    [['tail', '--json'], "unknown command 'tail' (Did you mean messages tail?)"],
  ])('svc %s is an unknown command', async (argv, text) => {
    const { code, stdout, stderr } = await svc(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(text)
  })

  test('svc list suggests nothing, because many groups have this subcommand', async () => {
    const { stderr } = await svc(['list'])
    expect(stderr).toContain("unknown command 'list'")
    expect(stderr).not.toContain(' list?')
  })

  test('svc --version prints the version', async () => {
    expect(await svc(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n' })
  })
})

describe('an invalid command', () => {
  test.each([
    ['an unknown command', ['sned'], "unknown command 'sned' (Did you mean send?)", 'svc'],
    [
      'an unknown option',
      ['send', '--to', 'x', '--txt', 'y'],
      "unknown option '--txt' (Did you mean --text?)",
      'svc send',
    ],
    [
      'a missing option',
      ['keys', 'create'],
      "required option '--name <name>' not specified",
      'svc keys create',
    ],
    [
      'a missing argument',
      ['messages', 'show'],
      "missing required argument 'id'",
      'svc messages show',
    ],
    ['a surplus argument', ['keys', 'list', 'x'], 'too many arguments', 'svc keys list'],
    ['an unknown choice', ['send', '--to', 'x', '--channel', 'fax'], 'fax', 'svc send'],
  ])('exits with 2 and one line for %s', async (_, argv, text, command) => {
    const { code, stdout, stderr } = await svc(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(text)
    expect(stderr).toMatch(/^svc: [^\n]*\n$/)
    expect(stderr).toContain(`(${command} --help shows how)`)
  })

  test.each([[[]], [['keys']]])('shows the help without a command: svc %s', async (argv) => {
    const { code, stdout, stderr } = await svc(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^Usage: svc/)
  })

  test.each([
    [['--json'], 'name a command: svc --help lists them'],
    [['keys', '--json'], 'name a command: svc keys --help lists them'],
    [['sned', '--json'], "unknown command 'sned' (Did you mean send?)"],
  ])('prints JSON with --json: svc %s', async (argv, message) => {
    const { code, stdout, stderr } = await svc(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({ error: 'usage', message })
  })
})
