import type { Command } from 'commander'
import { givenKey, KEY_STDIN_HELP, type KeyOptions } from '../connect/api-key-option.ts'
import { addressOf } from '../connect/connection.ts'
import { changeProfiles, isProfileName, PROFILES_MAX, readProfiles } from '../connect/profiles.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { askHidden } from '../input/password-prompt.ts'
import { Failure, usage } from '../process/failure.ts'
import { maskedKey } from '../settings/masked.ts'

/** What a header can carry. */
const KEY_CHARACTERS = /^[\x21-\x7e]{1,500}$/

interface AddOptions extends KeyOptions {
  url: string
  use?: boolean
  yes?: boolean
}

/** Adds `svc profiles`: servers by name. */
export function addProfiles(program: Command, context: Context): void {
  const profiles = program
    .command('profiles')
    .summary('remember servers and their keys by name')
    .description(
      `Remembers servers and their API keys by name, in a file that only you can read: svc/profiles.json in XDG_CONFIG_HOME,
or in ~/.config. A client command takes one with --profile or SVC_PROFILE, else the one in use. --url, --key-stdin, SVC_URL
and SVC_API_KEY go before it. A profile's key is sent to its own address only.`,
    )
  withExamples(
    profiles,
    'svc profiles add production --url https://svc.example.com',
    'svc messages list --profile production',
  )
  const add = profiles
    .command('add')
    .summary('remember a server')
    .description(
      `Remembers a server by a name, and the key to talk to it with, which is asked for on a terminal unless it is given. The
first one is in use from then on. One that is there already is replaced after asking.`,
    )
    .argument('<name>', 'letters, digits, dots, dashes and underscores')
    .requiredOption('--url <url>', 'the address of the server')
    .option(
      '--key <key>',
      'the API key; other users of this machine can see it in the list of processes (default: asked for)',
    )
    .option('--key-stdin', KEY_STDIN_HELP)
    .option('--use', 'use it from now on')
    .option('--yes', 'do not ask whether to replace one')
    .action((name: string, options: AddOptions) => addProfile(context, name, options))
  withExamples(
    add,
    'svc profiles add staging --url https://staging.example.com --use',
    'svc profiles add production --url https://svc.example.com --key-stdin < key.txt',
  )
  const list = profiles
    .command('list')
    .summary('list the servers that are remembered')
    .description(
      'Lists the servers that are remembered, and which is in use. Keys are never shown whole.',
    )
    .action(() => listProfiles(context))
  withExamples(list, 'svc profiles list')
  const use = profiles
    .command('use')
    .summary('talk to a server from now on')
    .description(
      'Lets client commands talk to a server that is remembered, where they are told no other.',
    )
    .argument('<name>', 'its name, as svc profiles list shows it')
    .action((name: string) => useProfile(context, name))
  withExamples(use, 'svc profiles use production')
  const remove = profiles
    .command('remove')
    .summary('forget a server and its key')
    .description(
      'Forgets a server and its key. It asks first. The key itself stays valid: svc keys revoke ends it.',
    )
    .argument('<name>', 'its name, as svc profiles list shows it')
    .option('--yes', 'do not ask')
    .action((name: string, options: { yes?: boolean }) => removeProfile(context, name, options))
  withExamples(remove, 'svc profiles remove staging', 'svc profiles remove staging --yes')
}

async function addProfile(
  { io, output }: Context,
  name: string,
  { url, use, yes, ...options }: AddOptions,
): Promise<void> {
  if (!isProfileName(name)) {
    throw usage('a profile is called by up to 40 letters, digits, dots, dashes and underscores')
  }
  const address = addressOf(url)
  const old = (await readProfiles(io)).profiles.get(name)
  if (old && !yes) await confirm(io, `Replace ${name} (${old.url})?`)
  const key = (await givenKey(options, io)) ?? (await askedKey(io))
  if (!KEY_CHARACTERS.test(key)) throw usage('the API key has characters that no key has')
  let isUsed = false
  const path = await changeProfiles(io, ({ used, profiles }) => {
    if (!profiles.has(name) && profiles.size >= PROFILES_MAX) {
      throw new Failure('failed', `there are ${PROFILES_MAX} profiles: remove one first`)
    }
    isUsed = use === true || used === null || used === name
    return {
      used: isUsed ? name : used,
      profiles: new Map([...profiles, [name, { url: address, key }]]),
    }
  })
  if (output.isJson()) return output.document({ name, url: address, is_used: isUsed })
  output.line(`${name} is ${address}${isUsed ? ', and in use' : ''}. It is kept in ${path}.`)
}

async function askedKey(io: Context['io']): Promise<string> {
  if (!io.stdin.isTTY) throw usage('no terminal to ask for the key: pipe it in with --key-stdin')
  return (await askHidden(io, 'API key: ')).trim()
}

async function listProfiles({ io, output }: Context): Promise<void> {
  const { used, profiles } = await readProfiles(io)
  const shown = [...profiles].map(([name, { url, key }]) => ({
    name,
    url,
    key: maskedKey(key),
    is_used: name === used,
  }))
  if (output.isJson()) return output.document({ profiles: shown })
  output.table(
    ['NAME', 'URL', 'KEY', 'STATE'],
    shown.map(({ name, url, key, is_used }) => [
      name,
      url,
      key,
      is_used ? { text: 'in use', style: 'green' } : '',
    ]),
  )
  if (shown.length === 0) output.note('No profile yet: svc profiles add <name> --url <url>')
}

async function useProfile({ io, output }: Context, name: string): Promise<void> {
  let url = ''
  await changeProfiles(io, ({ profiles }) => {
    url = found(profiles, name).url
    return { used: name, profiles }
  })
  if (output.isJson()) return output.document({ name, url, is_used: true })
  output.line(`${name} (${url}) is in use.`)
}

async function removeProfile(
  { io, output }: Context,
  name: string,
  { yes }: { yes?: boolean },
): Promise<void> {
  const { url } = found((await readProfiles(io)).profiles, name)
  if (!yes) await confirm(io, `Forget ${name} (${url}) and its key?`)
  let wasUsed = false
  await changeProfiles(io, ({ used, profiles }) => {
    wasUsed = used === name
    const left = [...profiles].filter(([each]) => each !== name)
    return { used: wasUsed ? null : used, profiles: new Map(left) }
  })
  if (output.isJson()) return output.document({ name, removed: true })
  output.line(`${name} is forgotten.`)
  if (wasUsed) output.note('No profile is in use now: svc profiles use <name> chooses one.')
}

function found<T>(profiles: ReadonlyMap<string, T>, name: string): T {
  const profile = profiles.get(name)
  if (profile) return profile
  throw new Failure('not_found', `there is no profile "${name}": svc profiles list shows them`)
}
