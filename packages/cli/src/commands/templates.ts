import type {
  ListedTemplate,
  PushedTemplate,
  Svc,
  Template,
  TemplatePreview,
  TemplateVersion,
} from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { readValues } from '../input/read-input.ts'
import { pairsOf } from '../messages/send-request.ts'
import { Failure, usage } from '../process/failure.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { listing, type PageOptions, pageOf, pagingOf, withPage } from '../show/listing.ts'
import type { Output } from '../show/output.ts'
import { counted, printable, type StyleName } from '../show/text.ts'
import {
  type FolderTemplate,
  filesOf,
  readFiles,
  readFolder,
  readLayouts,
  storedForm,
  type TemplateFiles,
  writeFiles,
} from '../templates/folder.ts'

type Channel = TemplatePreview['channel']

interface PushOptions extends ConnectionOptions {
  check?: boolean
  draft?: boolean
}

interface PreviewOptions extends ConnectionOptions {
  channel?: Channel
  locale?: string
  var?: string[]
  variables?: string
  html?: boolean
}

const CHANNELS: readonly Channel[] = ['sms', 'whatsapp', 'email', 'voice']
const FOLDER = 'the folder with one folder for each template'
const NAME = 'the name of the template'

/** Adds `svc templates`. */
export function addTemplates(program: Command, context: Context): void {
  const templates = program
    .command('templates')
    .summary('keep the texts of messages in files, and publish them')
    .description(
      `Keeps the stored texts of messages in a folder, as in git: pull writes them to files, push stores and publishes what changed.
Each template is a folder with a file template.md and one file for each channel and locale: sms.de.txt, email.en.html, or
whatsapp.en.yaml for a content without a text. Fields of a content, such as subject, stand above it between two lines ---.
The API key needs the scope manage_contacts.`,
    )
  withExamples(
    templates,
    'svc templates pull templates',
    'svc templates push templates --check',
    'svc templates preview templates/order-ready --var name=Asha',
  )
  addFolderCommands(templates, context)
  addPreview(templates, context)
  addReads(templates, context)
  addChanges(templates, context)
}

function addFolderCommands(templates: Command, context: Context): void {
  const pull = withConnection(
    templates
      .command('pull')
      .summary('write the templates of the service to a folder')
      .description(
        `Writes the drafts of the service to a folder. It asks before it changes or removes a file, and leaves the folders of
templates that the service does not have.`,
      )
      .argument('<dir>', FOLDER)
      .argument('[names...]', 'only these templates')
      .option('--yes', 'do not ask'),
  ).action((dir: string, names: string[], options: ConnectionOptions & { yes?: boolean }) =>
    pullAll(context, { dir, names }, options),
  )
  withExamples(
    pull,
    'svc templates pull templates',
    'svc templates pull templates order-ready --yes',
  )

  const push = withConnection(
    templates
      .command('push')
      .summary('store and publish the templates of a folder')
      .description(
        `Stores the templates of a folder and publishes those that changed: all of them, or none if one is wrong. Templates that the
folder does not have stay as they are. svc templates publish <name> <version> publishes an earlier version again.`,
      )
      .argument('<dir>', FOLDER)
      .argument('[names...]', 'only these templates')
      .option('--check', 'only check the files, and show what a push would do')
      .option('--draft', 'store the drafts, and do not publish them'),
  ).action((dir: string, names: string[], options: PushOptions) =>
    pushAll(context, { dir, names }, options),
  )
  withExamples(
    push,
    'svc templates push templates --check',
    'svc templates push templates order-ready',
  )

  const diff = withConnection(
    templates
      .command('diff')
      .summary('compare a folder with the service')
      .description(
        'Shows what a push would change in the drafts, line by line. Exits with 0 if nothing differs, and with 1 otherwise.',
      )
      .argument('<dir>', FOLDER)
      .argument('[names...]', 'only these templates'),
  ).action((dir: string, names: string[], options: ConnectionOptions) =>
    diffAll(context, { dir, names }, options),
  )
  withExamples(diff, 'svc templates diff templates')
}

function addPreview(templates: Command, context: Context): void {
  const preview = withConnection(
    templates
      .command('preview')
      .summary('show what the templates of a folder become with values')
      .description(
        `Shows the messages that the templates of a folder become, before a push, to the byte as they would be sent. A variable
without a value takes its fallback, or else its example. Exits with 1 if a variable has none.`,
      )
      .argument('<dir>', 'the folder of one template, or of all templates')
      .argument('[names...]', 'only these templates')
      .addOption(new Option('--channel <channel>', 'only this channel').choices(CHANNELS))
      .option('--locale <locale>', 'the variants that this locale uses (default: all variants)')
      .option('--var <name=value...>', 'texts for variables')
      .option('--variables <file>', 'a JSON file with an object of the values')
      .option('--html', 'the HTML of e-mails in place of their text'),
  ).action((dir: string, names: string[], options: PreviewOptions) =>
    previewAll(context, { dir, names }, options),
  )
  withExamples(
    preview,
    'svc templates preview templates/order-ready --var name=Asha order_id=A1',
    'svc templates preview templates/order-ready --channel email --locale de --html > mail.html',
  )
}

function addReads(templates: Command, { io, output }: Context): void {
  const list = withConnection(
    withPage(
      templates
        .command('list')
        .summary('list templates, newest first')
        .description('Lists templates, newest first.'),
    ),
  ).action(async ({ page, limit, ...options }: ConnectionOptions & PageOptions) => {
    const { client } = await connect(options, io)
    const found = await client.templates.list(pageOf({ page, limit }))
    listing(output, {
      json: () => found,
      headings: ['NAME', 'VERSION', 'CHANNELS', 'LOCALES', 'CHANGED'],
      rows: found.templates.map(listedRow),
      none: 'No templates: svc templates push <dir> stores those of a folder.',
      paging: pagingOf(found.pagination, 'template'),
    })
  })
  withExamples(list, 'svc templates list', 'svc templates list --json')

  const show = withConnection(
    templates
      .command('show')
      .summary('show one template')
      .description('Shows the draft of a template, or one version of it.')
      .argument('<name>', NAME)
      .argument('[version]', 'this version, also of a deleted template'),
  ).action(async (name: string, version: string | undefined, options: ConnectionOptions) => {
    const { client } = await connect(options, io)
    const found =
      version === undefined
        ? await client.templates.get(name)
        : await client.templates.version(name, String(versionOf(version)))
    if (output.isJson()) return output.document(found)
    await showTemplate(output, 'template' in found ? found.template : found.version)
  })
  withExamples(show, 'svc templates show order-ready', 'svc templates show order-ready 2')

  const versions = withConnection(
    withPage(
      templates
        .command('versions')
        .summary('list the versions of a template, newest first')
        .description('Lists the versions of a template, newest first, also of a deleted one.')
        .argument('<name>', NAME),
    ),
  ).action(async (name: string, { page, limit, ...options }: ConnectionOptions & PageOptions) => {
    const { client } = await connect(options, io)
    const found = await client.templates.versions(name, pageOf({ page, limit }))
    listing(output, {
      json: () => found,
      headings: ['VERSION', 'PUBLISHED', 'DESCRIPTION'],
      rows: found.versions.map(({ version, published_at, description }) => [
        String(version),
        published_at,
        description ?? '',
      ]),
      none: 'No versions: svc templates publish makes the first one.',
      paging: pagingOf(found.pagination, 'version'),
    })
  })
  withExamples(versions, 'svc templates versions order-ready')
}

function addChanges(templates: Command, { io, output }: Context): void {
  const publish = withConnection(
    templates
      .command('publish')
      .summary('publish the draft of a template, or an earlier version again')
      .description(
        'Publishes the draft as a new version. With a version it publishes that earlier one again, under a new number.',
      )
      .argument('<name>', NAME)
      .argument('[version]', 'the earlier version'),
  ).action(async (name: string, version: string | undefined, options: ConnectionOptions) => {
    const { client } = await connect(options, io)
    const wanted = version === undefined ? {} : { version: versionOf(version) }
    const published = await client.templates.publish(name, wanted)
    if (output.isJson()) return output.document(published)
    output.line(`${name} has version ${published.version.version}.`)
  })
  withExamples(publish, 'svc templates publish order-ready 2')

  const remove = withConnection(
    templates
      .command('delete')
      .summary('delete a template')
      .description(
        'Deletes a template, after a confirmation: messages cannot use it any more. Its versions stay readable.',
      )
      .argument('<name>', NAME)
      .option('--yes', 'do not ask'),
  ).action(async (name: string, options: ConnectionOptions & { yes?: boolean }) => {
    const { yes, ...connection } = options
    if (!yes) await confirm(io, `Delete the template ${printable(name)}?`)
    const { client } = await connect(connection, io)
    const deleted = await client.templates.delete(name)
    if (output.isJson()) return output.document(deleted)
    output.line(deleted.message)
  })
  withExamples(remove, 'svc templates delete order-ready --yes')
}

interface Chosen {
  dir: string
  names: string[]
}

async function pullAll(
  { io, output }: Context,
  { dir, names }: Chosen,
  { yes, ...options }: ConnectionOptions & { yes?: boolean },
): Promise<void> {
  const { client } = await connect(options, io)
  const stored = await templatesOf(client, names)
  const pulled: { name: string; changes: Map<string, string | null>; is_new: boolean }[] = []
  for (const template of stored) {
    const [files, known] = [await filesOf(template), await readFiles(dir, template.name, io)]
    const changes = new Map<string, string | null>()
    if (!(await isSame(template.name, { files, known }, { dir, io }))) {
      for (const [file, text] of files) if (known.get(file) !== text) changes.set(file, text)
      for (const file of known.keys()) if (!files.has(file)) changes.set(file, null)
    }
    pulled.push({ name: template.name, changes, is_new: known.size === 0 })
  }
  const hurt = pulled.flatMap(({ name, changes, is_new }) =>
    is_new
      ? []
      : [...changes].map(([file, text]) => `${text === null ? 'remove' : 'write'} ${name}/${file}`),
  )
  if (hurt.length > 0 && !yes) {
    for (const line of hurt) output.note(printable(line))
    await confirm(io, `Change ${counted(hurt.length, 'file')} of ${printable(dir)}?`)
  }
  for (const { name, changes } of pulled)
    if (changes.size > 0) await writeFiles(dir, name, changes, io)
  const changed = pulled.filter(({ changes }) => changes.size > 0)
  if (output.isJson()) {
    const shown = pulled.map(({ name, changes }) => ({ name, files: [...changes.keys()] }))
    return output.document({ templates: shown })
  }
  for (const { name, changes } of changed) output.row([name, [...changes.keys()].join(' ')])
  output.note(`${counted(changed.length, 'template')} of ${pulled.length} changed in ${dir}`)
}

/** Whether the folder has the same template, perhaps in another spelling. */
async function isSame(
  name: string,
  { files, known }: { files: TemplateFiles; known: TemplateFiles },
  { dir, io }: { dir: string; io: Context['io'] },
): Promise<boolean> {
  if (known.size === 0) return false
  const local = await readFolder(dir, io, [name]).catch(() => null)
  const spelled = local?.[0] && (await filesOf(storedForm(local[0])))
  return (
    spelled !== undefined && spelled.size === files.size && differing(spelled, files).length === 0
  )
}

/** The names of the files that differ, or that one side lacks. */
function differing(one: TemplateFiles, other: TemplateFiles): string[] {
  const names = [...new Set([...one.keys(), ...other.keys()])].sort()
  return names.filter((name) => one.get(name) !== other.get(name))
}

async function templatesOf(client: Svc, names: readonly string[]): Promise<Template[]> {
  const wanted = [...names]
  if (names.length === 0) {
    for await (const { name } of client.templates.list({ limit: 100 })) wanted.push(name)
  }
  const found: Template[] = []
  for (const name of wanted.sort()) found.push((await client.templates.get(name)).template)
  return found
}

async function pushAll(
  { io, output }: Context,
  { dir, names }: Chosen,
  { check = false, draft = false, ...options }: PushOptions,
): Promise<void> {
  const templates = await readFolder(dir, io, names)
  const { client } = await connect(options, io)
  const pushed = await client.templates.push({ templates, publish: !draft, dry_run: check })
  if (output.isJson()) return output.document(pushed)
  for (const one of pushed.templates) output.row(pushedRow(one))
  const count = (change: PushedTemplate['change']) =>
    `${pushed.templates.filter((one) => one.change === change).length} ${change}`
  const published = pushed.templates.filter((one) => one.is_published).length
  const counts = `${count('created')}, ${count('updated')}, ${count('unchanged')}; ${published} published`
  output.note(check ? `Nothing was changed. A push would give: ${counts}` : counts)
}

const CHANGE_STYLES: Record<PushedTemplate['change'], StyleName> = {
  created: 'green',
  updated: 'yellow',
  unchanged: 'dim',
}

function pushedRow({ name, change, changed, is_published, version }: PushedTemplate) {
  const of = version === null ? 'draft' : `version ${version}`
  return [
    { text: change, style: CHANGE_STYLES[change] },
    name,
    changed.join(','),
    is_published ? `${of}, published` : of,
  ]
}

async function diffAll(
  { io, output }: Context,
  { dir, names }: Chosen,
  options: ConnectionOptions,
): Promise<void> {
  const local = new Map((await readFolder(dir, io, names)).map((one) => [one.name, one]))
  const { client } = await connect(options, io)
  const stored = new Map<string, Template>()
  const listed: string[] = []
  for await (const { name } of client.templates.list({ limit: 100 })) listed.push(name)
  for (const name of listed) {
    if (local.has(name)) stored.set(name, (await client.templates.get(name)).template)
  }
  const { createTwoFilesPatch } = await import('diff')
  const compared = await Promise.all(
    [...local.values()].map(async (one) => {
      const mine = await filesOf(storedForm(one))
      const known = stored.get(one.name)
      const theirs: TemplateFiles = known ? await filesOf(known) : new Map()
      const patches = differing(mine, theirs).map((file) => {
        const path = `${one.name}/${file}`
        const [old, now] = [theirs.get(file), mine.get(file)]
        const labels = [
          old === undefined ? '/dev/null' : `service/${path}`,
          `folder/${path}`,
        ] as const
        const to = now === undefined ? '/dev/null' : labels[1]
        return createTwoFilesPatch(labels[0], to, old ?? '', now ?? '', undefined, undefined, {
          timeout: DIFF_MS_MAX,
        })
      })
      return { name: one.name, is_stored: known !== undefined, patches }
    }),
  )
  const only = names.length > 0 ? [] : listed.filter((name) => !local.has(name)).sort()
  const changed = compared.filter(({ patches }) => patches.length > 0)
  if (output.isJson()) output.document({ templates: compared, only_in_service: only })
  else {
    for (const { patches } of changed) {
      for (const patch of patches) showPatch(output, patch ?? '')
    }
    for (const name of only) output.note(`only in the service: ${printable(name)}`)
  }
  if (changed.length > 0) {
    throw new Failure(
      'differs',
      `${counted(changed.length, 'template')} of ${compared.length} would change`,
    )
  }
}

/** Two long texts without common lines could take minutes. */
const DIFF_MS_MAX = 2_000

function showPatch(output: Output, patch: string): void {
  for (const line of patch.trimEnd().split('\n').slice(1)) {
    const style = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim'
    output.line(output.style(style, printable(line)))
  }
}

async function previewAll(
  { io, output }: Context,
  { dir, names }: Chosen,
  { channel, locale, var: pairs = [], variables: file, html = false, ...options }: PreviewOptions,
): Promise<void> {
  const templates = await readFolder(dir, io, names)
  // The e-mails stand in the layouts that a push of the folder would publish.
  const layouts = await readLayouts(dir, io, templates)
  const variables = { ...(await readValues(file, io)), ...pairsOf('--var', pairs) }
  const { client } = await connect(options, io)
  const { createPatience } = await import('../bulk/patience.ts')
  const { waitingText } = await import('../bulk/progress.ts')
  // A folder can have more variants than a minute has requests.
  const patience = createPatience({
    outage_ms: 0,
    signal: stopSignalOf(io),
    onWait: (waiting) => {
      if (waiting) output.note(waitingText(waiting, new Date()))
    },
  })
  const previews: (TemplatePreview & { name: string })[] = []
  for (const { name, description: _, ...template } of templates) {
    const { variants } = template
    const used = layouts.filter((layout) =>
      variants.some(({ content }) => 'layout' in content && content.layout === layout.name),
    )
    for (const variant of variantsFor(template, { channel, locale })) {
      const { preview } = await patience.request(() =>
        client.templates.preview({
          template,
          ...(used.length > 0 && { layouts: used }),
          ...variant,
          variables,
        }),
      )
      previews.push({ name, ...preview })
    }
  }
  if (previews.length === 0) throw usage('no variant has this channel')
  if (output.isJson()) output.document({ previews })
  else
    for (const preview of previews)
      showPreview(output, preview, { html, bare: previews.length === 1 })
  const lacking = previews.filter(({ missing }) => missing.length > 0)
  if (lacking.length === 0) return
  const missing = [...new Set(lacking.flatMap((one) => one.missing))].sort()
  throw new Failure('missing_values', `no value, fallback or example for ${missing.join(', ')}`)
}

/** One variant for each channel with a locale, and else all of them. */
function variantsFor(
  { variants }: Pick<FolderTemplate, 'variants'>,
  { channel, locale }: { channel: Channel | undefined; locale: string | undefined },
): { channel: Channel; locale: string }[] {
  const chosen = variants.filter((one) => channel === undefined || one.channel === channel)
  if (locale === undefined)
    return chosen.map((one) => ({ channel: one.channel, locale: one.locale }))
  return [...new Set(chosen.map((one) => one.channel))].map((one) => ({ channel: one, locale }))
}

function showPreview(
  output: Output,
  { name, channel, locale, content, segments, encoding }: TemplatePreview & { name: string },
  { html, bare }: { html: boolean; bare: boolean },
): void {
  const { subject, text, html: page, ...rest } = content as Record<string, string>
  const size = segments === null ? '' : ` · ${counted(segments, 'segment')} ${encoding}`
  const heading = `${name} ${channel} ${locale}${size}`
  // What is written to a file has the message alone.
  if (bare) output.note(heading)
  else output.line(output.style('bold', heading))
  if (html && page !== undefined) {
    output.line(page)
    return
  }
  if (subject !== undefined) output.line(`Subject: ${printable(subject)}`)
  if (text !== undefined) for (const line of text.split('\n')) output.line(printable(line))
  else output.line(printable(JSON.stringify(page === undefined ? rest : { html: page })))
  if (!bare) output.line()
}

function listedRow({ name, version, is_changed, variants, updated_at }: ListedTemplate) {
  const distinct = (values: string[]) => [...new Set(values)].join(',')
  const shown = version === null ? 'draft' : is_changed ? `${version} (changed)` : String(version)
  return [
    name,
    { text: shown, style: (version === null || is_changed ? 'yellow' : 'green') as StyleName },
    distinct(variants.map(({ channel }) => channel)),
    distinct(variants.map(({ locale }) => locale)),
    updated_at,
  ]
}

async function showTemplate(output: Output, one: Template | TemplateVersion): Promise<void> {
  output.fields([
    ['name', one.name],
    ['version', one.version === null ? 'draft' : String(one.version)],
    ['changed', 'is_changed' in one && one.is_changed ? 'the draft is not published' : null],
    ['published', one.published_at],
  ])
  for (const [file, text] of await filesOf(one)) {
    output.line()
    output.line(output.style('bold', printable(file)))
    for (const line of text.trimEnd().split('\n')) output.line(printable(line))
  }
}

/** The server checks the bounds. */
function versionOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw usage(`the version must be a number from 1, got "${printable(text)}"`)
}
