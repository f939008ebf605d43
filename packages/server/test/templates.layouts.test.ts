import { LIMITS } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import { useWorld } from './world.ts'

const world = useWorld()
const TEMPLATES = '/api/v1/templates'

let key: string
beforeAll(async () => {
  key = (await world().key(await world().signup({ credits: 1_000 }))).key
})

const call = (method: string, path: string, json?: object) =>
  world().call(method, path, { key, ...(json && { json }) })

const email = (content: object, locale = 'en') => ({ channel: 'email', locale, content })
const layoutOf = (html: string) => ({ category: 'layout', variants: [email({ html })] })

let names = 0
const newName = () => `mail-${++names}`

async function store(json: object, name = newName()): Promise<string> {
  const made = await call('POST', TEMPLATES, { name, ...json })
  expect(made.status, made.text).toBe(201)
  return name
}

async function publish(name: string, json?: object) {
  const answer = await call('POST', `${TEMPLATES}/${name}/publish`, json)
  expect(answer.status, answer.text).toBe(201)
  return answer.body.data.version
}

async function published(json: object, name?: string): Promise<string> {
  const stored = await store(json, name)
  await publish(stored)
  return stored
}

async function sent(name: string, use: object = {}): Promise<{ html: string; text: string }> {
  const answer = await call('POST', '/api/v1/messages/send', {
    ...{ to: 'delivered@sandbox.svc', channel: 'email' },
    template: { name, ...use },
  })
  expect(answer.status, answer.text).toBe(201)
  const path = `/api/v1/messages/${answer.body.data.message_id}`
  return (await call('GET', path)).body.data.message.content
}

const body = { subject: 'Hi {{name}}', html: '<p>Hi {{name}}</p>' }

describe('an e-mail with a layout', () => {
  it('stands in the layout, with its values escaped, its CSS in attributes, and its words in the plain text', async () => {
    const brand = await published(
      layoutOf(
        '<html><head><style>p{color:red}@media print{p{color:black}}</style></head><body>{{content}}<p>{{shop|Acme}}</p></body></html>',
      ),
    )
    const name = await published({ variants: [email({ ...body, layout: brand })] })
    const { html, text, ...rest } = await sent(name, { variables: { name: '<b>', shop: 'A&B' } })
    expect(rest).toEqual({ subject: 'Hi <b>' })
    expect(html).toContain(
      '<p style="color: red;">Hi &lt;b&gt;</p><p style="color: red;">A&amp;B</p>',
    )
    expect(html).toMatch(/<style>\s*@media print/)
    expect(text).toBe('Hi <b>\n\nA&B')
  })

  it('keeps the layout of its version; publishing again takes the new one, a roll-back the old one', async () => {
    const brand = await published(layoutOf('<i>old</i>{{content}}'))
    const name = await published({ variants: [email({ ...body, layout: brand })] })
    const use = { variables: { name: 'A' } }
    const old = '<i>old</i><p>Hi A</p>'
    expect((await sent(name, use)).html).toBe(old)

    await call('PUT', `${TEMPLATES}/${brand}`, layoutOf('<i>new</i>{{content}}'))
    expect((await publish(name)).version).toBe(1)
    await publish(brand)
    expect((await sent(name, use)).html).toBe(old)
    const shown = { name, channel: 'email', ...use }
    const preview = async (json: object) =>
      (await call('POST', `${TEMPLATES}/preview`, json)).body.data.preview.content.html
    expect(await preview(shown)).toBe('<i>new</i><p>Hi A</p>')
    expect(await preview({ ...shown, version: 1 })).toBe(old)

    expect((await publish(name)).version).toBe(2)
    expect((await publish(name)).version).toBe(2)
    expect((await sent(name, use)).html).toBe('<i>new</i><p>Hi A</p>')
    expect((await publish(name, { version: 1 })).version).toBe(3)
    expect(await sent(name, use)).toMatchObject({ html: old, text: 'old\n\nHi A' })
    await call('DELETE', `${TEMPLATES}/${brand}`)
    expect((await sent(name, use)).html).toBe(old)
    expect((await call('POST', `${TEMPLATES}/${name}/publish`)).body.message).toBe(
      `variants.0.content.layout: no published layout has the name ${brand}`,
    )
  })

  it('is previewed in layouts that are not stored, before those of the service', async () => {
    const brand = await published(layoutOf('<i>stored</i>{{content}}'))
    const preview = async (layouts?: object[], layout = brand) => {
      const template = { variants: [email({ subject: 'a', html: '<p>b</p>', layout })] }
      const json = { template, channel: 'email', ...(layouts && { layouts }) }
      const { body } = await call('POST', `${TEMPLATES}/preview`, json)
      return body.data?.preview.content.html ?? body.message
    }
    const folder = [
      { name: brand, ...layoutOf('<i>folder</i>{{content}}') },
      { name: 'only-in-folder', ...layoutOf('<b>new</b>{{content}}') },
    ]
    expect([await preview(), await preview(folder)]).toEqual([
      '<i>stored</i><p>b</p>',
      '<i>folder</i><p>b</p>',
    ])
    expect(await preview(folder, 'only-in-folder')).toBe('<b>new</b><p>b</p>')
    expect(await preview(undefined, 'only-in-folder')).toContain('only-in-folder')
    const { body } = await call('GET', `${TEMPLATES}/${brand}`)
    expect(body.data.template).toMatchObject({ version: 1, is_changed: false })
  })

  it('uses the layout in its own locale, or else in the default locale of the layout', async () => {
    const brand = await published({
      ...{ category: 'layout', default_locale: 'en' },
      variants: [email({ html: 'EN {{content}}' }), email({ html: 'DE {{content}}' }, 'de')],
    })
    const content = { subject: 'a', html: 'x', layout: brand }
    const variants = ['fr', 'de-AT', 'en'].map((locale) => email(content, locale))
    const name = await published({ default_locale: 'en', variants })
    const found = async (locale: string) => (await sent(name, { locale })).html
    expect([await found('fr'), await found('de-AT'), await found('en')]).toEqual([
      'EN x',
      'DE x',
      'EN x',
    ])
  })

  it('may use the built-in layout', async () => {
    const content = { ...body, html: '<h1>Hi</h1><p class="x">{{name}}</p>', layout: 'default' }
    const { html, text } = await sent(await published({ variants: [email(content, 'ar')] }), {
      variables: { name: 'A' },
    })
    expect(html).toMatch(/^<!doctype html>\n<html lang="ar" dir="rtl"/)
    expect(html).toContain('<meta name="color-scheme" content="light dark">')
    expect(html).toMatch(/<h1 style="[^"]*color: #111827;[^"]*">Hi<\/h1>/)
    expect(html).toMatch(/@media \(prefers-color-scheme: dark\) \{[^}]*#111827 !important/)
    expect(html).toContain('<!--[if mso]>')
    expect(text).toBe('Hi\n\nA')
  })

  it('has its preview text hidden at the beginning, and not in the plain text', async () => {
    const content = { ...body, preview_text: '{{name}} & you', layout: 'default' }
    const name = await published({ variants: [email(content)] })
    const { html, text } = await sent(name, { variables: { name: '<A>' } })
    const hidden =
      /<body[^>]*><div style="display: ?none; ?max-height: ?0; ?overflow: ?hidden; ?mso-hide: ?all;?">&lt;A&gt; &amp; you /
    expect(html).toMatch(hidden)
    expect(text).toBe('Hi <A>')
    const missing = await call('POST', `${TEMPLATES}/preview`, { name, channel: 'email' })
    expect(missing.body.data.preview.missing).toEqual(['name'])
  })

  it('changes nothing of an HTML without layout and preview text, except with inline_css', async () => {
    const html = '<style>p{color:red}</style><p>a</p>'
    const plain = await published({ variants: [email({ subject: 'a', html })] })
    expect((await sent(plain)).html).toBe(html)
    const inlined = await published({ variants: [email({ subject: 'a', html, inline_css: true })] })
    expect((await sent(inlined)).html).toBe('<p style="color: red;">a</p>')
    const content = { subject: 'a', html, layout: 'default', inline_css: false }
    const kept = await published({ variants: [email(content)] })
    expect((await sent(kept)).html).toContain(html)
  })
})

describe('a layout', () => {
  it('is previewed with a text at its place, and sent by no message', async () => {
    const html = '<p>{{shop|Acme}}</p>{{content}}'
    const name = await published(layoutOf(html))
    const shown = await call('POST', `${TEMPLATES}/preview`, { name, channel: 'email' })
    expect(shown.body.data.preview.content).toMatchObject({
      html: expect.stringMatching(/^<p>Acme<\/p><h1>Heading/),
      text: expect.stringContaining('Acme\n\nHeading'),
    })
    const use = { to: 'delivered@sandbox.svc', channel: 'email', template: { name } }
    const refused = await call('POST', '/api/v1/messages/send', use)
    expect([refused.status, refused.body.message]).toEqual([
      400,
      `Template ${name} is a layout, which is sent with others`,
    ])
  })

  it.each([
    [layoutOf('<p>none</p>'), 'must have {{content}} once'],
    [layoutOf('{{content}}{{ content }}'), 'must have {{content}} once'],
    [layoutOf('{{content}}{{#if a}}'), '{{#if a}} has no {{/if}}'],
    [{ category: 'layout', variants: [email({ ...body, html: '{{content}}' })] }, 'only html'],
    [{ category: 'layout', variants: [email({ html: '{{content}}', layout: 'default' })] }, 'html'],
    [
      { category: 'layout', variants: [{ channel: 'sms', locale: 'en', content: { text: 'a' } }] },
      'A layout has only e-mails',
    ],
    [
      { variants: [email({ html: '<p>a</p>' })] },
      'Missing required field: variants.0.content.subject',
    ],
    [{ variants: [email({ ...body, layout: 'unknown' })] }, 'has the name unknown'],
    [
      { variants: [email({ ...body, html: '<body>a</body>', layout: 'default' })] },
      'no elements html, head and body',
    ],
    [{ variants: [email({ subject: 'a', text: 'b', layout: 'default' })] }, 'need content.html'],
    [{ variants: [email({ ...body, preview_text: 'a\nb' })] }, 'line breaks'],
    [{ variants: [email({ ...body, preview_text: '{{#if a}}' })] }, 'content.preview_text: {{#if'],
    [
      {
        variants: [
          email({ ...body, html: 'a'.repeat(LIMITS.template_html_length), layout: 'default' }),
        ],
      },
      `at most ${LIMITS.template_html_length} characters`,
    ],
    [
      {
        variants: [
          email({
            ...body,
            html: '{{a}}'.repeat(LIMITS.bulk_placeholders - 1),
            preview_text: '{{b}} {{c}}',
          }),
        ],
      },
      `at most ${LIMITS.bulk_placeholders} placeholders`,
    ],
  ])('refuses %j', async (json, message) => {
    const answer = await call('POST', TEMPLATES, { name: newName(), ...json })
    expect([answer.status, answer.body.error]).toEqual([400, 'validation_error'])
    expect(answer.text.replaceAll('\\', '')).toContain(message)
  })

  it('needs a text of its own, if that of the HTML had too many placeholders with it', async () => {
    const half = LIMITS.bulk_placeholders / 2
    const most = await published({
      variants: [email({ subject: 'a', html: '{{a|b}}'.repeat(half) })],
    })
    expect((await sent(most)).text).toBe('b'.repeat(half))
    const html = '{{a|b}}'.repeat(half + 1)
    const json = { name: newName(), variants: [email({ subject: 'a', html })] }
    const refused = await call('POST', TEMPLATES, json)
    expect(refused.body).toMatchObject({
      error: 'validation_error',
      details: [{ path: 'variants.0.content.text' }],
    })
    const own = await published({ variants: [email({ subject: 'a', html, text: 'c' })] })
    expect(await sent(own)).toMatchObject({ html: 'b'.repeat(half + 1), text: 'c' })
  })

  it('must be published before a template uses it', async () => {
    const brand = await store(layoutOf('{{content}}'))
    const json = { name: newName(), variants: [email({ ...body, layout: brand })] }
    expect((await call('POST', TEMPLATES, json)).body.message).toContain('no published layout')
    await publish(brand)
    expect((await call('POST', TEMPLATES, json)).status).toBe(201)
    const other = await published({ variants: [email(body)] })
    const using = { variants: [email({ ...body, layout: other })] }
    expect((await call('PUT', `${TEMPLATES}/${json.name}`, using)).body.message).toContain(
      'no published layout',
    )
  })

  it('makes a template with many e-mails at most 2 MiB large', async () => {
    const brand = await published(layoutOf(`<!--${'x'.repeat(100_000)}-->{{content}}`))
    const using = (count: number) => ({
      variants: Array.from({ length: count }, (_, i) =>
        email({ subject: 'a', html: 'x', layout: brand }, `en-x-${i}`),
      ),
    })
    await store(using(20))
    const answer = await call('POST', TEMPLATES, { name: newName(), ...using(21) })
    expect([answer.status, answer.body.message]).toEqual([
      400,
      `variants: with their layouts and their plain texts, the e-mails of a template must be at most ${LIMITS.template_mails_bytes} bytes together`,
    ])
    const templates = Array.from({ length: 17 }, () => ({ name: newName(), ...using(20) }))
    const pushed = await call('POST', `${TEMPLATES}/push`, { templates })
    expect([pushed.status, pushed.body.message]).toEqual([
      400,
      expect.stringContaining(`at most ${LIMITS.template_push_mails_bytes} bytes together`),
    ])
  })

  it('is pushed with the templates that use it, which become new versions with it', async () => {
    const [brand, name] = [`z-${newName()}`, newName()]
    const push = (html: string, more: object = {}) =>
      call('POST', `${TEMPLATES}/push`, {
        templates: [
          { name, variants: [email({ ...body, layout: brand })] },
          { name: brand, ...layoutOf(html) },
        ],
        ...more,
      })
    const first = await push('<i>1</i>{{content}}')
    expect(first.status, first.text).toBe(200)
    expect((await sent(name, { variables: { name: 'A' } })).html).toBe('<i>1</i><p>Hi A</p>')
    const plan = [
      { name, change: 'unchanged', changed: [], is_published: true, version: 2 },
      { name: brand, change: 'updated', changed: ['variants'], is_published: true, version: 2 },
    ]
    const next = '<i>2</i>{{content}}'
    expect((await push(next, { dry_run: true })).body.data.templates).toEqual(plan)
    expect((await push(next)).body.data.templates).toEqual(plan)
    expect((await sent(name, { variables: { name: 'A' } })).html).toBe('<i>2</i><p>Hi A</p>')
    const same = plan.map((one) => ({
      ...one,
      change: 'unchanged',
      changed: [],
      is_published: false,
    }))
    expect((await push(next)).body.data.templates).toEqual(same)
  })
})
