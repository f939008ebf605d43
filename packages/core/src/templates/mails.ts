import { setImmediate as turn } from 'node:timers/promises'
import { invalid, type SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { StoredEmail } from '../contract/resources/content.ts'
import type { TemplateRow, TemplateVersionRow } from '../rows/rows.ts'
import {
  defaultLayout,
  inLayout,
  isDocument,
  placesIn,
  withPreviewText,
} from '../rules/mail-layout.ts'
import { contentTemplate } from '../rules/template.ts'
import { textOfHtml } from '../rules/text-of-html.ts'
import type { Reads } from '../storage/ports/storage.ts'
import type { InlineCss } from './inline-css.ts'
import { lacksOneClick, NEEDS_ONE_CLICK, variantFor } from './use-template.ts'

/** What the e-mails of a template have beside the fields that their author wrote. */
export type Mails = Pick<TemplateVersionRow, 'htmls' | 'plain_texts'>

/** What this module reads of a template. */
type Written = Pick<TemplateRow, 'category' | 'default_locale' | 'variants'>

/** The layout that needs no template. */
const BUILT_IN = 'default'

/** Stands in the preview of a layout. */
const SAMPLE = `<h1>Heading</h1>
<p>The text of the message, with <a href="https://example.com/">a link</a>.</p>
<p><a class="button" href="https://example.com/">A button</a></p>`

/** One e-mail on the way to its last form. */
interface Mail {
  place: string
  locale: string
  content: StoredEmail
  html: string
  inlines: boolean
}

/**
 * Makes the last form of e-mails, once, when a template is published: HTML in its layout, with the preview text, with CSS in
 * attributes; plain texts for those without one.
 */
export function createMails({
  templates,
  inlineCss,
}: {
  templates: Reads['templates']
  inlineCss: InlineCss
}) {
  /**
   * `pushed`: templates of the same request, whose layouts come before the published ones.
   * @throws SvcError `validation_error` for an unknown layout, or an HTML that has no last form within the limits.
   */
  return async function mailsOf(
    workspaceId: string,
    { category, variants }: Written,
    pushed: ReadonlyMap<string, Written> = new Map(),
  ): Promise<Mails> {
    const mails: Mail[] = []
    const count = countMails()
    for (const [index, { channel, locale, content: given }] of variants.entries()) {
      const content = given as StoredEmail
      if (channel !== 'email' || !content.html) continue
      const place = `variants.${index}.content`
      const { layout, preview_text, inline_css = layout !== undefined } = content
      let html = content.html
      if (category === 'layout') html = inLayout(html, SAMPLE)
      if (layout !== undefined) {
        if (isDocument(html)) throw isWhole(place)
        html = inLayout(await layoutFor(workspaceId, { name: layout, locale, place, pushed }), html)
      }
      if (preview_text !== undefined) html = withPreviewText(html, preview_text)
      const inlines = (category === 'layout' || inline_css) && /<style[\s>]/i.test(html)
      if (html !== content.html || inlines) assertLength(html, place)
      // Before their CSS is copied, so that few of them are in memory.
      if (html !== content.html) count(html)
      mails.push({ place, locale, content, html, inlines })
    }
    await inline(workspaceId, mails)
    return lastForms(mails)
  }

  async function layoutFor(
    workspaceId: string,
    {
      name,
      locale,
      place,
      pushed,
    }: { name: string; locale: string; place: string; pushed: ReadonlyMap<string, Written> },
  ): Promise<string> {
    if (name === BUILT_IN) return defaultLayout(locale)
    const row = pushed.get(name) ?? (await templates.usable(workspaceId, name, undefined))
    if (row?.category !== 'layout') {
      throw invalid(`${place}.layout`, `${place}.layout: no published layout has the name ${name}`)
    }
    return (variantFor({ ...row, name }, 'email', locale).content as StoredEmail).html ?? ''
  }

  async function inline(workspaceId: string, mails: readonly Mail[]): Promise<void> {
    const wanted = mails.filter(({ inlines }) => inlines)
    if (wanted.length === 0) return
    const result = await inlineCss(
      workspaceId,
      wanted.map(({ html }) => html),
    )
    if ('fault' in result) {
      const { place } = wanted[result.at] as Mail
      throw invalid(
        `${place}.html`,
        `${place}.html: its CSS cannot be copied to attributes: ${result.fault}`,
      )
    }
    for (const [i, mail] of wanted.entries()) {
      mail.html = result.htmls[i] as string
      assertLength(mail.html, mail.place)
    }
  }
}

/**
 * @throws SvcError `validation_error` for a layout that is none, an e-mail without a subject, or a marketing e-mail without one-click
 * unsubscribe.
 */
export function checkMails({ category, variants }: Written): void {
  for (const [index, { channel, content }] of variants.entries()) {
    const place = `variants.${index}.content`
    const { subject, html, ...others } = content as StoredEmail
    if (category !== 'layout') {
      if (channel !== 'email') continue
      if (subject === undefined) {
        throw invalid(`${place}.subject`, `Missing required field: ${place}.subject`)
      }
      if (category === 'marketing' && lacksOneClick(others)) {
        throw invalid(`${place}.headers`, `${place}.headers: ${NEEDS_ONE_CLICK}`)
      }
      continue
    }
    if (channel !== 'email' || subject !== undefined || Object.keys(others).length > 0) {
      throw invalid(place, 'A layout has only e-mails, and these only html')
    }
    if (placesIn(html ?? '') !== 1) {
      throw invalid(
        `${place}.html`,
        `${place}.html: a layout must have {{content}} once, where the HTML of other templates stands`,
      )
    }
  }
}

/** Indexed by locale, in the order of the locales: a version is new if its HTML differs. */
async function lastForms(mails: readonly Mail[]): Promise<Mails> {
  const htmls: Record<string, string> = {}
  const plain_texts: Record<string, string> = {}
  const count = countMails()
  for (const { place, locale, content, html } of mails.toSorted((a, b) =>
    a.locale < b.locale ? -1 : 1,
  )) {
    const { subject = '' } = content
    if (html !== content.html) {
      const { text } = content
      // The placeholders of the layout and of the preview text count too.
      contentTemplate({ subject, html, ...(text && { text }) }, { has_blocks: true, place })
      count(html)
      htmls[locale] = html
    }
    if (!content.text) {
      const text = plainTextOf({ subject, html }, place)
      if (text !== '') {
        count(text)
        plain_texts[locale] = text
      }
    }
    await turn()
  }
  return { htmls: Object.keys(htmls).length > 0 ? htmls : null, plain_texts }
}

/** The bytes of last forms. @throws SvcError `validation_error` if they are too many for a new version. */
export function sizeOfMails({ htmls, plain_texts }: Mails): number {
  const count = countMails()
  let bytes = 0
  for (const text of [...Object.values(htmls ?? {}), ...Object.values(plain_texts)]) {
    bytes = count(text)
  }
  return bytes
}

/** Counts the bytes of texts, and throws when they are too many for one template. */
function countMails(): (text: string) => number {
  let bytes = 0
  return (text) => {
    bytes += Buffer.byteLength(text)
    if (bytes <= LIMITS.template_mails_bytes) return bytes
    throw invalid(
      'variants',
      `variants: with their layouts and their plain texts, the e-mails of a template must be at most ${LIMITS.template_mails_bytes} bytes together`,
    )
  }
}

/** The plain text of the HTML of an e-mail, with its placeholders, which count with those of the other fields. */
function plainTextOf({ subject, html }: { subject: string; html: string }, place: string): string {
  if (html.length > LIMITS.template_html_length) throw needsText(place)
  const text = textOfHtml(html)
  try {
    contentTemplate({ subject, html, text }, { has_blocks: true })
  } catch {
    throw needsText(place)
  }
  return text
}

function assertLength(html: string, place: string): void {
  if (html.length <= LIMITS.template_html_length) return
  throw invalid(
    `${place}.html`,
    `${place}.html: with its layout, its preview text and its CSS it must be at most ${LIMITS.template_html_length} characters`,
  )
}

function isWhole(place: string): SvcError {
  return invalid(
    `${place}.html`,
    `${place}.html: it stands in a layout, so it must have no elements html, head and body`,
  )
}

function needsText(place: string): SvcError {
  return invalid(
    `${place}.text`,
    `${place}.text: no plain text can be made of this HTML, so that it must be given`,
  )
}
