import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { assertCredentialHolds } from '../api-keys/credential.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { ApprovedTemplates } from '../carriers/approved-templates.ts'
import type { Body, BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import type {
  ApprovalQuery,
  templates as endpoints,
  ListedTemplate,
  ListedVersion,
  PushedTemplate,
  Template,
  TemplateApproval,
  TemplatePreview,
  TemplateVersion,
} from '../contract/resources/templates.ts'
import type { PriceOf } from '../prices/price.ts'
import type { TemplateRow, TemplateVersionRow } from '../rows/rows.ts'
import type { StoredVariant } from '../rows/templates.ts'
import { checkBraces, contentTemplate } from '../rules/template.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { createCssInliner } from './inline-css.ts'
import { checkMails, createMails, type Mails, sizeOfMails } from './mails.ts'
import { CATEGORY_DEFAULT, marketingTextsOf, previewOf } from './use-template.ts'

/** Stored templates of messages: drafts, and versions that never change. */
export interface Templates<F extends Form = 'given'> {
  /**
   * Creates a draft.
   * @throws SvcError `validation_error` for a name that is in use, a text whose placeholders or blocks are wrong, a
   *   channel without the default locale, or too many templates.
   */
  create(
    workspaceId: string,
    request: BodyIn<typeof endpoints.create, F>,
    actor?: Actor,
  ): Promise<Template>
  /** Returns a page of the templates, newest first, and their total number. */
  list(
    workspaceId: string,
    page: Slice,
  ): Promise<{ templates: ListedTemplate[]; total: number; next_after: string | null }>
  /** One template with its draft. @throws SvcError `not_found` */
  get(workspaceId: string, name: string): Promise<Template>
  /** Changes the draft. @throws SvcError in the same cases as `get` and `create` */
  update(
    workspaceId: string,
    name: string,
    request: BodyIn<typeof endpoints.update, F>,
    actor?: Actor,
  ): Promise<Template>
  /**
   * Makes a version of the draft, or of an earlier version, which becomes the draft too. Without a difference to the
   * latest version it returns the latest.
   * @throws SvcError in the same cases as `get`; `validation_error` for an unknown version, or without room for it.
   */
  publish(
    workspaceId: string,
    name: string,
    request?: BodyIn<typeof endpoints.publish, F>,
    actor?: Actor,
  ): Promise<TemplateVersion>
  /** Returns a page of the versions, newest first, also of a deleted template. @throws SvcError `not_found` */
  versions(
    workspaceId: string,
    name: string,
    page: Slice,
  ): Promise<{ versions: ListedVersion[]; total: number; next_after: string | null }>
  /** One version, also of a deleted template. @throws SvcError `not_found` */
  version(workspaceId: string, name: string, version: number): Promise<TemplateVersion>
  /**
   * Creates, changes and publishes templates in one transaction: all of them, or on an error none. With `dry_run` it only
   * returns what it would do.
   * @throws SvcError in the same cases as `create` and `publish`; the message begins with the name of the template.
   */
  push(
    workspaceId: string,
    request: BodyIn<typeof endpoints.push, F>,
    actor?: Actor,
  ): Promise<PushedTemplate[]>
  /**
   * Returns what a draft, a version, or a template that is not stored becomes with values.
   * @throws SvcError `validation_error` for an unknown name or version, a fault of the template, or a content that a send
   *   would refuse.
   */
  preview(
    workspaceId: string,
    request: BodyIn<typeof endpoints.preview, F>,
  ): Promise<TemplatePreview>
  /**
   * What the providers of WhatsApp say about one of their templates. They are asked if it is not known, or with `refresh`, at most
   * once a minute and for 5 s.
   */
  approval(workspaceId: string, query: ApprovalQuery): Promise<TemplateApproval>
  /** Removes the draft; messages cannot use the template any more. @throws SvcError in the same cases as `get` */
  delete(workspaceId: string, name: string, actor?: Actor): Promise<void>
}

type Draft = Pick<
  TemplateRow,
  'description' | 'category' | 'default_locale' | 'variables' | 'variants'
>

export function createTemplates({
  storage,
  runtime,
  priceOf,
  approved,
}: {
  storage: Storage
  runtime: Runtime
  priceOf: PriceOf
  approved: Pick<ApprovedTemplates, 'stateOf'>
}): Templates<'decoded'> {
  const mailsOf = createMails({ templates: storage.read.templates, inlineCss: createCssInliner() })

  const entry = (
    actor: Actor,
    { workspace_id, id, name }: TemplateRow,
    action: AuditAction,
    details: Record<string, number | readonly string[]> = {},
  ) =>
    auditRow(runtime, actor, {
      workspace_id,
      action,
      target: { type: 'template', id },
      details: { name, ...details },
    })

  return {
    async create(workspaceId, request, actor = SERVICE) {
      const { name } = request
      const draft = newDraft(request)
      await checkDraft(draft)
      await mailsOf(workspaceId, draft)
      return storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'send')
        const { templates } = stores
        const known = await templates.lock(workspaceId, name)
        if (known && known.deleted_at === null) {
          throw invalid('name', `A template has the name ${name} already`)
        }
        if ((await templates.count(workspaceId)) >= LIMITS.templates) throw tooMany()
        return recordOf(await insert(stores, actor, { workspaceId, name, draft, known }))
      })
    },
    async list(workspaceId, page) {
      const [found, total] = await Promise.all([
        storage.read.templates.list(workspaceId, withNext(page)),
        storage.read.templates.count(workspaceId),
      ])
      const { rows, next_after } = pageOf(found, page, ({ id }) => id)
      const listed = rows.map(({ kinds: variants, ...row }) => ({ ...row, variants }))
      return { templates: listed, total, next_after }
    },
    async get(workspaceId, name) {
      return recordOf(live(await storage.read.templates.byName(workspaceId, name)))
    },
    async update(workspaceId, name, request, actor = SERVICE) {
      const before = live(await storage.read.templates.byName(workspaceId, name))
      const wanted = changed(before, request)
      await checkDraft(wanted)
      await mailsOf(workspaceId, wanted)
      return storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'send')
        const row = live(await stores.templates.lock(workspaceId, name))
        const draft = changed(row, request)
        checkLocales(draft)
        checkMails(draft)
        const names = FIELDS.filter((field) => !isSame(draft[field], row[field]))
        if (names.length === 0) return recordOf(row)
        return recordOf(await change(stores, actor, { row, draft, names }))
      })
    },
    async publish(workspaceId, name, { version: wanted } = {}, actor = SERVICE) {
      const before = live(await storage.read.templates.byName(workspaceId, name))
      const source = await sourceFor(before, wanted)
      // Rules that are newer than the draft or the version hold for the new version.
      await checkDraft(draftOf(source))
      sizeOfMails(source)
      return storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'send')
        const row = live(await stores.templates.lock(workspaceId, name))
        if (wanted === undefined && !isSame(draftOf(row), draftOf(before))) {
          throw new SvcError('rate_limit_exceeded', 'The draft changed meanwhile. Try again.', {
            retry_after_s: 1,
          })
        }
        const draft = draftOf(source)
        const { version } = await publishDraft(stores, actor, { row, draft, mails: source })
        return versionOf(version)
      })
    },
    async push(workspaceId, { templates: given, publish, dry_run }, actor = SERVICE) {
      const wanted: Wanted[] = []
      const drafts = new Map(given.map(({ name, ...request }) => [name, newDraft(request)]))
      for (const [name, draft] of drafts) await ofTemplate(name, () => checkDraft(draft))
      let bytes = 0
      for (const [name, draft] of drafts) {
        const mails = await ofTemplate(name, () => mailsOf(workspaceId, draft, drafts))
        bytes += sizeOfMails(mails)
        if (bytes > LIMITS.template_push_mails_bytes) throw tooMuchMail()
        wanted.push({ name, draft, mails })
      }
      if (dry_run) return planned(workspaceId, wanted, publish)
      const done = await storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'send')
        return pushAll(stores, actor, { workspaceId, wanted, publish })
      })
      return wanted.map(({ name }) => done.get(name) as PushedTemplate)
    },
    approval: (_workspaceId, { refresh = false, ...template }) =>
      approved.stateOf(template, { refresh }),
    async preview(workspaceId, { name, version, template, layouts = [], ...use }) {
      const source = template
        ? await unstored(workspaceId, template, layouts)
        : await stored(workspaceId, name ?? '', version)
      const texts = await marketingTextsOf(storage.read.workspaces, workspaceId, source)
      const row = { ...source, name: name ?? '', version: version ?? 0 }
      return previewOf(row, use, { texts, priceOf })
    },
    async versions(workspaceId, name, { after, ...page }) {
      const below = after === undefined ? undefined : readVersion(after)
      const { templates } = storage.read
      const [found, total] = await Promise.all([
        templates.versions(workspaceId, name, { ...withNext(page), below }),
        templates.countVersions(workspaceId, name),
      ])
      if (total === 0) live(await templates.byName(workspaceId, name))
      const { rows, next_after } = pageOf(found, page, ({ version }) => String(version))
      return { versions: rows, total, next_after }
    },
    async version(workspaceId, name, version) {
      const row = await storage.read.templates.version(workspaceId, name, version)
      if (!row) throw notFound()
      return versionOf(row)
    },
    async delete(workspaceId, name, actor = SERVICE) {
      await storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'send')
        const { templates, audit } = stores
        const row = live(await templates.lock(workspaceId, name))
        const hasVersions = (await templates.countVersions(workspaceId, name)) > 0
        if (hasVersions) {
          const gone = { deleted_at: runtime.now(), variables: [], variants: [], kinds: [] }
          await templates.change(workspaceId, name, gone)
        } else await templates.remove(workspaceId, name)
        await audit.record(entry(actor, row, 'template.deleted'))
      })
    },
  }

  async function insert(
    { templates, audit }: Writes,
    actor: Actor,
    {
      workspaceId: workspace_id,
      name,
      draft,
      known,
    }: { workspaceId: string; name: string; draft: Draft; known: TemplateRow | null },
  ): Promise<TemplateRow> {
    const at = runtime.now()
    const row: TemplateRow = {
      workspace_id,
      name,
      id: runtime.id(),
      ...draft,
      kinds: kindsOf(draft),
      // A deleted template with this name has versions, which keep their numbers.
      version: null,
      is_changed: true,
      published_at: null,
      created_at: at,
      updated_at: at,
      deleted_at: null,
    }
    if (known) await templates.change(workspace_id, name, row)
    else await templates.insert(row)
    await audit.record(entry(actor, row, 'template.created'))
    return row
  }

  async function change(
    { templates, audit }: Writes,
    actor: Actor,
    { row, draft, names }: { row: TemplateRow; draft: Draft; names: readonly string[] },
  ): Promise<TemplateRow> {
    const kinds = kindsOf(draft)
    const changes = { ...draft, kinds, is_changed: true, updated_at: runtime.now() }
    await templates.change(row.workspace_id, row.name, changes)
    await audit.record(entry(actor, row, 'template.updated', { changed: names }))
    return { ...row, ...changes }
  }

  async function pushAll(
    stores: Writes,
    actor: Actor,
    { workspaceId, wanted, publish }: { workspaceId: string; wanted: Wanted[]; publish: boolean },
  ): Promise<Map<string, PushedTemplate>> {
    const { templates } = stores
    let room = LIMITS.templates - (await templates.count(workspaceId))
    const done = new Map<string, PushedTemplate>()
    // In the order of the names, so that pushes at the same time wait for each other without a deadlock.
    for (const one of wanted.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const { name, mails } = one
      const known = await templates.lock(workspaceId, name)
      const plan = await planOf(templates, known, one, publish)
      const { draft, result } = plan
      let row = plan.row
      if (row === null) {
        if (--room < 0) throw tooMany()
        row = await insert(stores, actor, { workspaceId, name, draft, known })
      } else if (result.change === 'updated') {
        row = await change(stores, actor, { row, draft, names: result.changed })
      }
      if (publish && (row.is_changed || result.is_published)) {
        await ofTemplate(name, () => publishDraft(stores, actor, { row, draft, mails }))
      }
      done.set(name, result)
    }
    return done
  }

  async function planned(
    workspaceId: string,
    wanted: readonly Wanted[],
    publish: boolean,
  ): Promise<PushedTemplate[]> {
    const { templates } = storage.read
    let room = LIMITS.templates - (await templates.count(workspaceId))
    const results: PushedTemplate[] = []
    for (const one of wanted) {
      const known = await templates.byName(workspaceId, one.name)
      const { row, result } = await planOf(templates, known, one, publish)
      if (row === null && --room < 0) throw tooMany()
      results.push(result)
    }
    return results
  }

  /** Makes a version of the draft, unless it equals the latest version, also with its layout. */
  async function publishDraft(
    { templates, audit }: Writes,
    actor: Actor,
    { row, draft, mails }: { row: TemplateRow; draft: Draft; mails: Mails },
  ): Promise<{ version: TemplateVersionRow; is_new: boolean }> {
    const { workspace_id, name } = row
    const at = runtime.now()
    const settled = { ...draft, kinds: kindsOf(draft), is_changed: false, updated_at: at }
    const latest = await latestOf(templates, row)
    if (latest && isSame(draftOf(latest), draft) && haveSameHtml(latest, mails)) {
      await templates.change(workspace_id, name, settled)
      return { version: latest, is_new: false }
    }
    const { plain_texts, htmls } = mails
    const size_bytes = sizeOf(draft) + sizeOf(plain_texts) + sizeOf(htmls)
    if (!(await hasRoom(templates, workspace_id, size_bytes))) throw noRoom()
    const [newest] = await templates.versions(workspace_id, name, { limit: 1, offset: 0 })
    const version: TemplateVersionRow = {
      workspace_id,
      name,
      version: (newest?.version ?? 0) + 1,
      ...draft,
      plain_texts,
      htmls,
      size_bytes,
      published_at: at,
    }
    await templates.insertVersion(version)
    const changes = { ...settled, version: version.version, published_at: at }
    await templates.change(workspace_id, name, changes)
    const details = { version: version.version }
    await audit.record(entry(actor, row, 'template.published', details))
    return { version, is_new: true }
  }

  async function unstored(
    workspaceId: string,
    template: Parameters<typeof newDraft>[0],
    layouts: BodyIn<typeof endpoints.push, 'decoded'>['templates'],
  ): Promise<Draft & Mails> {
    const draft = newDraft(template)
    await checkDraft(draft)
    const drafts = new Map(layouts.map(({ name, ...layout }) => [name, newDraft(layout)]))
    for (const [name, layout] of drafts) await ofTemplate(name, () => checkDraft(layout))
    return { ...draft, ...(await mailsOf(workspaceId, draft, drafts)) }
  }

  async function stored(
    workspaceId: string,
    name: string,
    version?: number,
  ): Promise<Draft & Mails> {
    const row = await storage.read.templates.byName(workspaceId, name)
    if (!row || row.deleted_at) throw invalid('name', `No template has the name ${name}`)
    return sourceFor(row, version)
  }

  /** The draft with what its e-mails become now, or a version with what they became. */
  async function sourceFor(row: TemplateRow, wanted: number | undefined): Promise<Draft & Mails> {
    if (wanted === undefined) return { ...row, ...(await mailsOf(row.workspace_id, row)) }
    const found = await storage.read.templates.version(row.workspace_id, row.name, wanted)
    if (!found) throw invalid('version', `Template ${row.name} has no version ${wanted}`)
    return found
  }
}

type Writes = Parameters<Parameters<Storage['write']>[0]>[0]
type TemplateReads = Storage['read']['templates']

/** A template of a push. */
interface Wanted {
  name: string
  draft: Draft
  mails: Mails
}

/** What a push does to one template. `row`: null if it creates it. */
async function planOf(
  templates: TemplateReads,
  known: TemplateRow | null,
  { name, draft: wanted, mails }: Wanted,
  publish: boolean,
): Promise<{ row: TemplateRow | null; draft: Draft; result: PushedTemplate }> {
  const row = known?.deleted_at === null ? known : null
  const changed = row
    ? FIELDS.filter((field) => !isDeepStrictEqual(sorted(row)[field], sorted(wanted)[field]))
    : []
  const change = row === null ? 'created' : changed.length > 0 ? 'updated' : 'unchanged'
  const draft = row && change === 'unchanged' ? draftOf(row) : wanted
  const latest = row && (await latestOf(templates, row))
  const isLatest = latest !== null && isSame(draftOf(latest), draft) && haveSameHtml(latest, mails)
  const is_published = publish && !isLatest
  const newest =
    known && is_published
      ? await templates.versions(known.workspace_id, name, { limit: 1, offset: 0 })
      : []
  const version = is_published ? (newest[0]?.version ?? 0) + 1 : (latest?.version ?? null)
  return { row, draft, result: { name, change, changed, is_published, version } }
}

/** With its variants in one order. */
function sorted(draft: Draft): Draft {
  const keyOf = ({ channel, locale }: StoredVariant) => `${channel} ${locale}`
  return {
    ...draft,
    variants: draft.variants.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
  }
}

/** Runs `work`. The message of an error begins with the name of the template then. */
async function ofTemplate<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'validation_error') throw error
    throw invalid('templates', `${name}: ${error.message}`)
  }
}

async function latestOf(
  templates: TemplateReads,
  { workspace_id, name, version }: TemplateRow,
): Promise<TemplateVersionRow | null> {
  return version === null ? null : templates.version(workspace_id, name, version)
}

function newDraft({
  description = null,
  category = CATEGORY_DEFAULT,
  variables,
  variants,
  default_locale = (variants[0] as StoredVariant).locale,
}: Pick<Draft, 'variables' | 'variants'> & {
  [K in 'description' | 'category' | 'default_locale']?: Draft[K] | undefined
}): Draft {
  return { description, category, default_locale, variables, variants }
}

const FIELDS = ['description', 'category', 'default_locale', 'variables', 'variants'] as const

function draftOf({ description, category, default_locale, variables, variants }: Draft): Draft {
  return { description, category, default_locale, variables, variants }
}

function changed(row: TemplateRow, request: Body<typeof endpoints.update>): Draft {
  const given = FIELDS.filter((field) => request[field] !== undefined)
  return draftOf({ ...row, ...Object.fromEntries(given.map((field) => [field, request[field]])) })
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Without a text of the whole, because it runs in a transaction and compares megabytes. */
function haveSameHtml(one: Mails, other: Mails): boolean {
  return isDeepStrictEqual(one.htmls, other.htmls)
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Versions of deleted templates are removed if their space is needed. */
async function hasRoom(
  templates: Writes['templates'],
  workspaceId: string,
  size_bytes: number,
): Promise<boolean> {
  const fits = async () =>
    (await templates.sizeOfVersions(workspaceId)) + size_bytes <= LIMITS.template_versions_bytes
  if (await fits()) return true
  await templates.removeDeleted(workspaceId)
  return fits()
}

/** @throws SvcError `validation_error` for a fault that a message would have, or a draft that is too large. */
async function checkDraft(draft: Draft): Promise<void> {
  checkLocales(draft)
  checkMails(draft)
  if (sizeOf(draft) > LIMITS.template_body_bytes) {
    const max = LIMITS.template_body_bytes
    throw invalid('variants', `A template may have at most ${max} bytes as JSON`)
  }
  for (const [index, { content }] of draft.variants.entries()) {
    const place = `variants.${index}.content`
    contentTemplate(content, { has_blocks: true, place })
    checkBraces(content, place)
    await turn()
  }
}

function checkLocales({ variants, default_locale }: Draft): void {
  const inDefault = new Set(
    variants.filter(({ locale }) => locale === default_locale).map(({ channel }) => channel),
  )
  const lacking = variants.find(({ channel }) => !inDefault.has(channel))
  if (!lacking) return
  throw invalid(
    'variants',
    `Channel ${lacking.channel} has no variant in the default locale ${default_locale}`,
  )
}

function kindsOf({ variants }: Pick<Draft, 'variants'>): TemplateRow['kinds'] {
  return variants.map(({ channel, locale }) => ({ channel, locale }))
}

function recordOf({ workspace_id: _, kinds: __, deleted_at: ___, ...row }: TemplateRow): Template {
  return row
}

function versionOf(row: TemplateVersionRow): TemplateVersion {
  const { workspace_id: _, plain_texts: __, htmls: ___, size_bytes: ____, ...version } = row
  return version
}

function live(row: TemplateRow | null): TemplateRow {
  if (!row || row.deleted_at) throw notFound()
  return row
}

function notFound(): SvcError {
  return new SvcError('not_found', 'Template not found')
}

function readVersion(after: string): number {
  if (/^[1-9]\d{0,8}$/.test(after)) return Number(after)
  throw invalid('after', 'after must be the next_after of an earlier page')
}

function tooMany(): SvcError {
  return invalid(
    '',
    `A workspace may have at most ${LIMITS.templates} templates. Delete one that is not used any more`,
  )
}

function tooMuchMail(): SvcError {
  return invalid(
    'templates',
    `With their layouts and their plain texts, the e-mails of a push must be at most ${LIMITS.template_push_mails_bytes} bytes together. Push fewer templates at a time`,
  )
}

function noRoom(): SvcError {
  return invalid(
    '',
    'The versions of all templates have no room for this one. Delete templates that are not used any more',
  )
}
