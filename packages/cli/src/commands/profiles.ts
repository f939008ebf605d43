import { maskedKey } from '@svc/server/settings'
import type { Command } from 'commander'
import { addressOf, KEY_STDIN_HELP, type KeyOptions, readApiKey } from '../connect/connection.ts'
import { changeProfiles, isProfileName, PROFILES_MAX, readProfiles } from '../connect/profiles.ts'
import { type Context, withExamples } from '../context.ts'
import { askHidden, confirm } from '../input/prompts.ts'
import { Failure, usage } from '../process/failure.ts'
import { listing } from '../show/listing.ts'

/** The characters that a header can have. */
const KEY_CHARACTERS = /^[\x21-\x7e]{1,500}$/

interface AddOptions extends KeyOptions {
  url: string
  use?: boolean
  yes?: boolean
}

/** Adds `svc profiles`: named servers. */
export function addProfiles(program: Command, context: Context): void {
  const profiles = program
    .command('profiles')
    .summary('save servers and their keys under a name')
    .description(
      `Saves servers and their API keys under a name, in a file that only you can read: svc/profiles.json in
XDG_CONFIG_HOME, or in ~/.config. A client command uses the profile of --profile or SVC_PROFILE, else the profile in
use. --url, --key-stdin, SVC_URL and SVC_API_KEY override it. The key of a profile is sent to the address of the profile
only.`,
    )
  withExamples(
    profiles,
    'svc profiles add production --url https://svc.example.com',
    'svc messages list --profile production',
  )
  const add = profiles
    .command('add')
    .summary('save a server and its key')
    .description(
      `Saves a server and its API key under a name. Without --key and --key-stdin it asks for the key on the terminal.
The first profile becomes the profile in use. It asks before it replaces a profile.`,
    )
    .argument('<name>', 'letters, digits, dots, dashes and underscores')
    .requiredOption('--url <url>', 'the address of the server')
    .option(
      '--key <key>',
      'the API key; other users of this machine can see it in the list of processes (default: ask)',
    )
    .option('--key-stdin', KEY_STDIN_HELP)
    .option('--use', 'make it the profile in use')
    .option('--yes', 'do not ask before replacing a profile')
    .action((name: string, options: AddOptions) => addProfile(context, name, options))
  withExamples(
    add,
    'svc profiles add staging --url https://staging.example.com --use',
    'svc profiles add production --url https://svc.example.com --key-stdin < key.txt',
  )
  const list = profiles
    .command('list')
    .summary('list the profiles')
    .description('Lists the profiles and shows which one is in use. Keys are shown in part only.')
    .action(() => listProfiles(context))
  withExamples(list, 'svc profiles list')
  const use = profiles
    .command('use')
    .summary('choose the profile in use')
    .description('Makes a profile the default of client commands.')
    .argument('<name>', 'the name, as svc profiles list shows it')
    .action((name: string) => useProfile(context, name))
  withExamples(use, 'svc profiles use production')
  const remove = profiles
    .command('remove')
    .summary('remove a profile with its key')
    .description(
      'Removes a profile with its key, after a confirmation. The key stays valid: svc keys revoke revokes it.',
    )
    .argument('<name>', 'the name, as svc profiles list shows it')
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
    throw usage('the name must be up to 40 letters, digits, dots, dashes and underscores')
  }
  const address = addressOf(url)
  const old = (await readProfiles(io)).profiles.get(name)
  if (old && !yes) await confirm(io, `Replace ${name} (${old.url})?`)
  const key = (await readApiKey(options, io)) ?? (await askKey(io))
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
  output.line(`${name} is ${address}${isUsed ? ', and in use' : ''}. Saved in ${path}.`)
}

async function askKey(io: Context['io']): Promise<string> {
  if (!io.stdin.isTTY) throw usage('stdin is not a terminal: pipe the key in with --key-stdin')
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
  listing(output, {
    json: () => ({ profiles: shown }),
    headings: ['NAME', 'URL', 'KEY', 'STATE'],
    rows: shown.map(({ name, url, key, is_used }) => [
      name,
      url,
      key,
      is_used ? { text: 'in use', style: 'green' } : '',
    ]),
    none: 'No profile yet: svc profiles add <name> --url <url>',
  })
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
  if (!yes) await confirm(io, `Remove ${name} (${url}) and its key?`)
  let wasUsed = false
  await changeProfiles(io, ({ used, profiles }) => {
    wasUsed = used === name
    const others = [...profiles].filter(([each]) => each !== name)
    return { used: wasUsed ? null : used, profiles: new Map(others) }
  })
  if (output.isJson()) return output.document({ name, removed: true })
  output.line(`${name} is removed.`)
  if (wasUsed) output.note('No profile is in use now: svc profiles use <name> chooses one.')
}

function found<T>(profiles: ReadonlyMap<string, T>, name: string): T {
  const profile = profiles.get(name)
  if (profile) return profile
  throw new Failure('not_found', `there is no profile "${name}": svc profiles list shows them`)
}
