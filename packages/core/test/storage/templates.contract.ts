import { expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { createPricing, DEFAULT_PRICES } from '../../src/prices/price.ts'
import type { TemplateVersionRow } from '../../src/rows/rows.ts'
import { createTemplates } from '../../src/templates/templates.ts'
import { filledRequest, sourceOf } from '../../src/templates/use-template.ts'
import { benchFor, type OpenStorage } from './bench.ts'

type TemplateFields = Pick<
  TemplateVersionRow,
  'description' | 'category' | 'default_locale' | 'variables' | 'variants'
>

/** Versions that were published under older rules: messages still use them, and no new version has their faults. */
export function templatesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** A template whose draft and only version no newer rule has checked. */
  async function stored(workspaceId: string, version: Partial<TemplateVersionRow>) {
    const at = bench.clock.now()
    const draft: Partial<TemplateVersionRow> & TemplateFields = {
      ...{ description: null, category: 'transactional', default_locale: 'en', variables: [] },
      variants: [{ channel: 'email', locale: 'en', content: { subject: 'Hi', text: 'Hi' } }],
      ...version,
    }
    const { htmls = null, plain_texts = {}, ...fields } = draft
    const names = { workspace_id: workspaceId, name: 'old' }
    await bench.storage.write(async ({ templates }) => {
      await templates.insert({
        ...{ ...names, ...fields, id: bench.clock.id(), kinds: [], version: 1 },
        ...{ is_changed: false, published_at: at, created_at: at, updated_at: at },
        deleted_at: null,
      })
      await templates.insertVersion({
        ...{ ...names, ...fields, htmls, plain_texts, version: 1 },
        ...{ size_bytes: 1, published_at: at },
      })
    })
    return createTemplates({
      storage: bench.storage,
      runtime: bench.clock,
      priceOf: createPricing(DEFAULT_PRICES),
      approved: { stateOf: () => Promise.reject(new Error('no provider')) },
    })
  }

  async function filled(workspaceId: string, channel: 'email' | 'whatsapp' = 'email') {
    const use = { to: 'a@example.com', channel, template: { name: 'old' } } as never
    const source = await sourceOf(bench.storage.read, workspaceId, use)
    return filledRequest(use, source).content
  }

  it('sends a version whose e-mails are too large for a new one', async () => {
    const workspaceId = await bench.workspace()
    const html = 'x'.repeat(LIMITS.template_mails_bytes + 1)
    const content = { subject: 'Hi', html: 'x' }
    const templates = await stored(workspaceId, {
      variants: [{ channel: 'email', locale: 'en', content }],
      htmls: { de: html, en: 'y' },
    })
    expect(await filled(workspaceId)).toMatchObject({ html: 'y' })
    await expect(templates.publish(workspaceId, 'old', { version: 1 })).rejects.toMatchObject({
      ...{ code: 'validation_error', message: expect.stringContaining('2097152 bytes together') },
    })
  })

  it('refuses the preview of an example that is no value of its type', async () => {
    const text = '{{#each items}}{{title}}{{/each}}'
    const content = { subject: 'Hi', text }
    const variants = [{ channel: 'email' as const, locale: 'en', content }]
    for (const [example, message] of [
      [{ title: 'Tea' }, 'a string, a number, a boolean or a list'],
      ['Tea', 'must be a list'],
      [[['Tea']], 'a list as an item'],
    ] as const) {
      const workspaceId = await bench.workspace()
      const variables = [{ name: 'items', type: 'list' as const, example }]
      const templates = await stored(workspaceId, { variants, variables })
      const shown = templates.preview(workspaceId, { name: 'old', channel: 'email' })
      await expect(shown).rejects.toMatchObject({
        ...{ code: 'validation_error', message: expect.stringContaining(message) },
      })
    }
  })

  it('sends a version with a header that is not filled in, and publishes it no more', async () => {
    const workspaceId = await bench.workspace()
    const headers = { 'X-Order': '{{order}}', 'List-Unsubscribe': '<mailto:off@acme.example>' }
    const templates = await stored(workspaceId, {
      category: 'marketing',
      variants: [
        { channel: 'email', locale: 'en', content: { subject: 'Hi', text: 'a', headers } },
      ],
    })
    expect(await filled(workspaceId)).toMatchObject({ headers })
    await expect(templates.publish(workspaceId, 'old', {})).rejects.toMatchObject({
      ...{
        code: 'validation_error',
        message: expect.stringContaining('variants.0.content.headers'),
      },
    })
  })
}
