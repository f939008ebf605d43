import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DevServer } from '../../packages/cli/test/dev-server.ts'
import { filled } from './fill.ts'
import type { PageDatabases } from './page-databases.ts'
import type { Block, Page } from './pages.ts'
import type { Setting } from './reader.ts'
import { sectionOf } from './sections.ts'
import { scriptOf } from './shell-page.ts'

/** The folders of a fresh machine. */
const MACHINE_FOLDERS = [
  ...['etc/svc', 'etc/nginx/conf.d', 'etc/systemd/system', 'opt', 'root', 'srv', 'tmp'],
  ...['usr/local/bin', 'usr/local/src', 'var/backups', 'var/lib', 'var/www'],
]
const ON_MACHINE = /(?<![\w.:/-])\/(?:etc|opt|root|srv|tmp|usr\/local|var)(?=\/|$|\s)/gm

/** The public address of the reader's server. */
const OWN_ADDRESS = /https:\/\/svc\.example\.com/g

/** Other hosts: replaced by this machine, where nothing listens, so that no request leaves it. */
const OTHER_HOSTS =
  /\b(?:[a-z-]+\.)*(?:smtp|smsc|smpp|gateway|carrier)[a-z.-]*\.example(?:\.com|\.net)?\b/g

/** Placeholders that must be replaced; not variables of the shell, nor `{event_id}`, which the command replaces. */
const LEFT = /…|(?<!\$)\{(?!event_id\})[a-z_]+\}(?!\})|<(?!\/?p>)[A-Za-z][\w -]*>/

/** The reader's file that a block shows. */
export function fileFor(words: readonly string[]): string | undefined {
  return words.find((word) => /^(?:people\.csv|providers\.json)$/.test(word))
}

/**
 * The commands of a page in a form that runs here, each on its line of the page.
 * @throws Error with the line of an unknown placeholder.
 */
export async function scriptFor(
  page: Page,
  context: {
    dev: DevServer
    folder: string
    machine: string
    databases: PageDatabases
    receiver: { port: number }
    secret: string
    signature: string
    metrics_port: string
    setting: Setting
  },
): Promise<string> {
  const { dev, folder, machine, databases, receiver, setting } = context
  const begun = new Set<string>()
  const before = (block: Block): string => {
    const section = sectionOf(page, block.line)
    const isFirst = !begun.has(section)
    begun.add(section)
    return (isFirst && setting.sections?.[section]) || ''
  }
  const lines = databases.withNames(scriptOf(page, before).split('\n'))
  const script = await filled(lines.join('\n'), context)
  assertNothingLeft(page, script)
  makeMachine(
    machine,
    page.lines.some((line) => line.includes('svc init --config')) ? null : context,
  )
  return (
    script
      .replaceAll(ON_MACHINE, (path) => join(machine, path))
      .replaceAll(OWN_ADDRESS, dev.url)
      .replaceAll(/(?:127\.0\.0\.1|localhost):3000/g, new URL(dev.url).host)
      .replaceAll(/(?:127\.0\.0\.1|localhost):8080/g, `127.0.0.1:${receiver.port}`)
      .replaceAll('127.0.0.1:9464', `127.0.0.1:${context.metrics_port}`)
      .replaceAll(OTHER_HOSTS, 'localhost')
      // The commands run in one process here, in another folder.
      .replaceAll('SVC_PROVIDERS=./', `SVC_PROVIDERS=${folder}/`)
      // The customer is an existing workspace, if the page creates none.
      .replaceAll('ops@example.com', (email) =>
        script.includes('workspaces create') ? email : dev.workspace.email,
      )
  )
}

function assertNothingLeft(page: Page, script: string): void {
  const left = script.split('\n').flatMap((line, i) => {
    const [found] = LEFT.exec(line.replace(/(^|\s)#.*/, '')) ?? []
    return found ? [`${page.path}:${i + 1}: nothing stands for ${found}`] : []
  })
  if (left.length > 0) throw new Error(left.join('\n'))
}

/** A fresh machine, or one that is set up with the data of the page's own server. */
function makeMachine(machine: string, context: { dev: DevServer; folder: string } | null): void {
  for (const name of MACHINE_FOLDERS) mkdirSync(join(machine, name), { recursive: true })
  if (!context) return
  const settings = JSON.stringify({ data_dir: context.dev.data_dir })
  writeFileSync(join(machine, 'etc/svc/svc.config.json'), settings, { mode: 0o600 })
  symlinkSync(context.folder, join(machine, 'usr/local/src/svc'))
}
