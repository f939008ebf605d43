import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type FolderTemplate,
  filesOf,
  readFolder,
  storedForm,
  writeFiles,
} from '../src/templates/folder.ts'
import { type DevServer, startDevServer } from './dev-server.ts'
import { newFolder, svc, svcJson } from './svc.ts'

let server: DevServer
let client: Svc

beforeAll(async () => {
  server = await startDevServer()
  client = new Svc({ baseUrl: server.url, apiKey: server.api_key })
})

afterAll(() => server.close())

const pathOf = (...names: string[]) => join(server.here.cwd, ...names)
const templates = (...argv: string[]) => svc(['templates', ...argv], server.here)

function write(dir: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(pathOf(dir, name), '..'), { recursive: true })
    writeFileSync(pathOf(dir, name), text)
  }
}

const ORDER = {
  'order-ready/template.md':
    '---\ncategory: transactional\ndefault_locale: en\nvariables:\n  - name: name\n    type: text\n    fallback: there\n  - name: order_id\n    type: text\n    example: A1\n---\nSent when an order can be collected\n',
  'order-ready/sms.en.txt': 'Hi {{name}}, order {{order_id}} is ready\n',
  'order-ready/sms.de.txt': 'Hallo {{name}}, Bestellung {{order_id}} ist bereit\n',
  'order-ready/email.en.html':
    '---\nsubject: Order {{order_id}}\n---\n<p>Hi {{name}},</p>\n<p>{{order_id}}</p>\n',
  'order-ready/email.en.txt': 'Hi {{name}}, {{order_id}}\n',
  'order-ready/whatsapp.en.yaml': 'template:\n  name: order_ready\n  language: en\n',
  'README.md': 'The texts of the shop.\n',
  '.git/config': '',
}

let dirs = 0
let dir: string
beforeEach(async () => {
  dir = `texts-${++dirs}`
  for await (const { name } of client.templates.list()) await client.templates.delete(name)
})

test('push stores and publishes a folder, and the second time changes nothing', async () => {
  write(dir, { ...ORDER, 'hello/template.md': '\n', 'hello/sms.en.txt': 'Hello' })
  const check = await templates('push', dir, '--check')
  expect(check).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^created\thello\t\tversion \d+, published\ncreated\torder-ready\t/,
    ),
    stderr:
      'Nothing was changed. A push would give: 2 created, 0 updated, 0 unchanged; 2 published\n',
  })
  expect((await templates('list')).stderr).toContain('No templates')
  expect((await templates('push', dir)).stderr).toBe(
    '2 created, 0 updated, 0 unchanged; 2 published\n',
  )
  const { template } = await client.templates.get('order-ready')
  expect(template).toMatchObject({
    ...{ is_changed: false, description: 'Sent when an order can be collected' },
    variables: [
      { name: 'name', type: 'text', fallback: 'there' },
      { name: 'order_id', type: 'text', example: 'A1' },
    ],
  })
  const contents = Object.fromEntries(
    template.variants.map(({ channel, locale, content }) => [`${channel}.${locale}`, content]),
  )
  expect(contents).toEqual({
    'sms.en': { text: 'Hi {{name}}, order {{order_id}} is ready' },
    'sms.de': { text: 'Hallo {{name}}, Bestellung {{order_id}} ist bereit' },
    'email.en': {
      subject: 'Order {{order_id}}',
      html: '<p>Hi {{name}},</p>\n<p>{{order_id}}</p>',
      text: 'Hi {{name}}, {{order_id}}',
    },
    'whatsapp.en': { template: { name: 'order_ready', language: 'en' } },
  })
  const again = await templates('push', dir)
  expect(again.stdout.match(/^unchanged\t/gm)).toHaveLength(2)
  expect(again.stderr).toBe('0 created, 0 updated, 2 unchanged; 0 published\n')

  write(dir, { 'hello/sms.en.txt': 'Hello!\n' })
  expect(await templates('push', dir, 'hello', '--draft')).toMatchObject({
    stdout: expect.stringMatching(/^updated\thello\tvariants\tversion \d+\n$/),
  })
  expect((await templates('list')).stdout).toMatch(
    /^order-ready\t\d+\t.*\nhello\t\d+ \(changed\)\t/m,
  )
  expect((await templates('push', dir)).stderr).toContain('1 published')
})

test('push stores nothing if one file is wrong, and names each of them', async () => {
  write(dir, ORDER)
  write(dir, {
    'a/template.md': '---\ndefault_locale: en\n',
    'b/template.md': '',
    'b/sms_en.txt': 'Hi',
    'c/template.md': '---\ncategorie: marketing\n---\n',
    'd/sms.en.txt': 'Hi',
    'e/template.md': '',
    'e/email.en.html': '---\nsubject: [a\n---\n<p>Hi</p>\n',
    'f/template.md': '',
    'f/sms.en.txt': 'Hi',
    'f/sms.de.txt': 'Hallo',
    'g/template.md': '',
    'g/email.en.html': '<p>Hi</p>',
    'g/email.en.txt': '---\nsubject: Hi\n---\nHi\n',
    'h/template.md': '',
    'h/sms.en.html': '<p>Hi</p>',
  })
  writeFileSync(pathOf(dir, 'h/voice.en.txt'), Buffer.from([0xff, 0xfe]))
  const { code, stderr } = await templates('push', dir)
  expect(code).toBe(2)
  for (const fault of [
    `${dir}/a/template.md: the front matter begins with --- and has no second line ---`,
    `${dir}/b/sms_en.txt: a variant is named as sms.de.txt`,
    `${dir}/c/template.md: categorie is not one of`,
    `${dir}/d: it has no file template.md`,
    `${dir}/e/email.en.html: `,
    'at line 3, column 1',
    `${dir}/f/template.md: default_locale is missing: one of de, en`,
    `${dir}/g/email.en.txt: the fields of email.en belong to email.en.html`,
    `${dir}/h/voice.en.txt: it is not UTF-8`,
  ]) {
    expect(stderr).toContain(fault)
  }
  // The service is not asked about files with faults.
  const away = { ...server.here.env, SVC_URL: 'http://127.0.0.1:1', SVC_API_KEY: server.api_key }
  const check = (env?: NodeJS.ProcessEnv) =>
    svc(['templates', 'push', dir, '--check'], { ...server.here, ...(env && { env }) })
  expect([(await check()).code, (await check(away)).code]).toEqual([2, 2])
  for (const name of 'abcdefgh') rmSync(pathOf(dir, name), { recursive: true })
  write(dir, { 'zz/template.md': '', 'zz/sms.en.txt': '{{#if a}}\n' })
  expect([(await check()).code, (await check(away)).code]).toEqual([1, 3])
  const wrongKey = { ...server.here.env, SVC_API_KEY: 'svc_test_wrong' }
  expect((await check(wrongKey)).code).toBe(1)
  expect(await templates('push', dir)).toMatchObject({
    code: 1,
    stderr: 'svc: zz: variants.0.content.text: {{#if a}} has no {{/if}}\n',
  })
  expect((await client.templates.list()).templates).toEqual([])
  expect((await templates('push', 'missing')).stderr).toContain('there is no such folder')
  mkdirSync(pathOf(dir, 'empty'))
  expect((await templates('push', join(dir, '.git'))).stderr).toContain('has no templates')
})

test('pull writes what push stored, asks before it changes files, and leaves other folders', async () => {
  write(dir, ORDER)
  await templates('push', dir)
  const other = `${dir}-pulled`
  write(other, { 'mine/template.md': '', 'mine/sms.en.txt': 'Mine' })
  const pulled = await templates('pull', other)
  expect(pulled).toMatchObject({ code: 0, stderr: `1 template of 1 changed in ${other}\n` })
  for (const [name, text] of Object.entries(ORDER)) {
    if (name.startsWith('order-ready')) expect(readFileSync(pathOf(other, name), 'utf8')).toBe(text)
  }
  expect(readdirSync(pathOf(other, 'mine'))).toHaveLength(2)

  // Another spelling of the same template stays as it is.
  const spelled = ORDER['order-ready/template.md'].replace('category: transactional\n', '')
  write(other, { 'order-ready/template.md': spelled })
  expect((await templates('pull', other)).stderr).toContain('0 templates of 1 changed')
  expect(readFileSync(pathOf(other, 'order-ready/template.md'), 'utf8')).toBe(spelled)

  write(other, { 'order-ready/sms.en.txt': 'Changed\n', 'order-ready/sms.fr.txt': 'Salut\n' })
  const refused = await templates('pull', other)
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('write order-ready/sms.en.txt\n')
  expect(refused.stderr).toContain('remove order-ready/sms.fr.txt\n')
  expect(refused.stderr).toContain('add --yes')
  expect(readFileSync(pathOf(other, 'order-ready/sms.en.txt'), 'utf8')).toBe('Changed\n')
  expect((await templates('pull', other, '--yes')).code).toBe(0)
  expect(readFileSync(pathOf(other, 'order-ready/sms.en.txt'), 'utf8')).toBe(
    ORDER['order-ready/sms.en.txt'],
  )
  expect((await templates('diff', other, 'order-ready')).code).toBe(0)
})

test('diff shows what a push would change, and exits with 1', async () => {
  write(dir, ORDER)
  await templates('push', dir)
  expect(await templates('diff', dir)).toMatchObject({ code: 0, stdout: '' })
  write(dir, { 'order-ready/sms.en.txt': 'Hi {{name}}\n', 'order-ready/sms.fr.txt': 'Salut\n' })
  await client.templates.push({
    templates: [
      { name: 'other', variants: [{ channel: 'sms', locale: 'en', content: { text: 'a' } }] },
    ],
  })
  const { code, stdout, stderr } = await templates('diff', dir)
  expect(code).toBe(1)
  expect(stdout).toContain(
    '--- service/order-ready/sms.en.txt\n+++ folder/order-ready/sms.en.txt\n',
  )
  expect(stdout).toContain('\n-Hi {{name}}, order {{order_id}} is ready\n+Hi {{name}}\n')
  expect(stdout).toContain('--- /dev/null\n+++ folder/order-ready/sms.fr.txt\n')
  expect(stderr).toBe('only in the service: other\nsvc: 1 template of 1 would change\n')
})

test('preview shows the bytes of a send before a push', async () => {
  write(dir, ORDER)
  const values = ['--var', 'name=<Asha>', 'order_id=A1']
  const { previews } = await svcJson<{ previews: Record<string, unknown>[] }>(
    ['templates', 'preview', join(dir, 'order-ready'), ...values],
    server.here,
  )
  expect(previews.map(({ channel, locale }) => [channel, locale])).toEqual([
    ['email', 'en'],
    ['sms', 'de'],
    ['sms', 'en'],
    ['whatsapp', 'en'],
  ])
  await templates('push', dir)
  const sent = await client.messages.send({
    to: 'delivered@sandbox.svc',
    channel: 'email',
    template: { name: 'order-ready', variables: { name: '<Asha>', order_id: 'A1' } },
  })
  const { message } = await client.messages.get(sent.message_id)
  expect(previews[0]?.content).toEqual(message.content)

  const one = await templates('preview', dir, '--channel', 'sms', '--locale', 'de-AT')
  expect(one).toMatchObject({
    code: 0,
    stdout: 'Hallo there, Bestellung A1 ist bereit\n',
    stderr: 'order-ready sms de · 1 segment GSM-7\n',
  })
  const html = await templates('preview', dir, '--channel', 'email', '--html', ...values)
  expect(html.stdout).toBe('<p>Hi &lt;Asha&gt;,</p>\n<p>A1</p>\n')
  write(dir, {
    'brand/template.md': '---\ncategory: layout\n---\n',
    'brand/email.en.html': '<i>folder</i>{{content}}\n',
    'news/template.md': '---\n---\n',
    'news/email.en.html': '---\nsubject: News\nlayout: brand\n---\n<p>Hi</p>\n',
  })
  const inLayout = await templates('preview', dir, 'news', '--html')
  expect(inLayout.stdout, inLayout.stderr).toContain('<i>folder</i><p>Hi</p>')
  // A folder that the preview does not need may have faults.
  write(dir, { 'images/logo.txt': 'x' })
  const again = await templates('preview', dir, 'news', '--html')
  expect(again.stdout, again.stderr).toContain('<i>folder</i><p>Hi</p>')
  rmSync(pathOf(dir, 'images'), { recursive: true })
  write(dir, { 'order-ready/sms.en.txt': 'Hi {{surname}}\n' })
  expect(await templates('preview', dir, '--channel', 'sms')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no value, fallback or example for surname'),
  })
  write(dir, { 'values.json': '{"surname": "Mushi"}' })
  const file = ['--variables', join(dir, 'values.json')]
  expect((await templates('preview', dir, '--channel', 'sms', ...file)).stdout).toContain(
    'Hi Mushi',
  )
})

test('preview waits for the rate limit of the server', async () => {
  write(dir, ORDER)
  let requests = 0
  const limited = createServer(async (request, response) => {
    const isRefused = ++requests === 2
    for await (const _ of request);
    response.writeHead(isRefused ? 429 : 200, {
      ...(isRefused && { 'retry-after': '0' }),
      'content-type': 'application/json',
    })
    const preview = { channel: 'sms', locale: 'en', content: { text: 'Hi' }, missing: [] }
    const rest = { encoding: 'GSM-7', segments: 1, credits: 1 }
    const limit = { error: 'rate_limit_exceeded', message: 'Too many requests' }
    response.end(
      JSON.stringify(
        isRefused
          ? { success: false, ...limit }
          : { success: true, data: { preview: { ...preview, ...rest } } },
      ),
    )
  })
  await new Promise<void>((resolve) => limited.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(limited.address() as AddressInfo).port}`
  try {
    const shown = await svc(['templates', 'preview', dir, '--channel', 'sms'], {
      ...server.here,
      env: { ...server.here.env, SVC_URL: url, SVC_API_KEY: server.api_key },
    })
    expect([shown.code, requests], shown.stderr).toEqual([0, 3])
    expect(shown.stderr).toContain('The rate limit of the server is reached')
  } finally {
    limited.closeAllConnections()
    await new Promise((resolve) => limited.close(resolve))
  }
})

test.each(['react-email', 'mjml'])(
  'what %s makes is sent as it is, with its values',
  async (maker) => {
    // Made by @react-email/components 1.0 and mjml 5.4 of the same mail.
    const html = readFileSync(new URL(`./built-mails/${maker}.html`, import.meta.url), 'utf8')
    write(dir, {
      'built/template.md': '---\nvariables:\n  - { name: note, type: text }\n---\n',
      'built/email.en.html': `---\nsubject: Order {{order_id}}\n---\n${html}\n`,
    })
    expect(await templates('push', dir)).toMatchObject({ code: 0 })
    const sent = await client.messages.send({
      ...{ to: 'delivered@sandbox.svc', channel: 'email' },
      template: { name: 'built', variables: { order_id: 'A&1', note: 'ring twice' } },
    })
    const { content } = (await client.messages.get(sent.message_id)).message as {
      content: { html: string; text: string }
    }
    const filled = html
      .replaceAll('{{order_id}}', 'A&amp;1')
      .replace('{{name|there}}', 'there')
      .replace('{{#if note}}', '')
      .replace('{{note}}', 'ring twice')
      .replace('{{/if}}', '')
    expect(content.html).toBe(filled)
    expect(content.text.split('\n').filter(Boolean)).toEqual([
      'Hi there,',
      'order A&1 is ready. Note: ring twice',
      'See it (https://shop.example/orders/A&1)',
    ])
  },
)

test('a layout is pushed with the mails that use it, and both are pulled as they were', async () => {
  const files = {
    'brand/template.md': '---\ncategory: layout\ndefault_locale: en\n---\n\n',
    'brand/email.en.html': '<i>Brand</i>{{content}}\n',
    'parcel/template.md': '---\ncategory: transactional\ndefault_locale: en\n---\n\n',
    'parcel/email.en.html':
      '---\nsubject: Your parcel\nlayout: brand\npreview_text: It waits for {{name|you}}\n---\n<p>Hi {{name|there}}</p>\n',
  }
  write(dir, files)
  expect(await templates('push', dir)).toMatchObject({ code: 0 })
  const sent = await client.messages.send({
    ...{ to: 'delivered@sandbox.svc', channel: 'email' },
    template: { name: 'parcel', variables: { name: 'Asha' } },
  })
  const { content } = (await client.messages.get(sent.message_id)).message as {
    content: { html: string; text: string }
  }
  expect(content.html).toMatch(/^<div style="display:none[^>]*>It waits for Asha /)
  expect(content.html).toMatch(/<\/div><i>Brand<\/i><p>Hi Asha<\/p>$/)
  expect(content.text).toBe('Brand\n\nHi Asha')

  write(dir, { 'brand/email.en.html': '<b>New</b>{{content}}\n' })
  const check = await templates('push', dir, '--check')
  expect(check.stdout).toBe(
    'updated\tbrand\tvariants\tversion 2, published\nunchanged\tparcel\t\tversion 2, published\n',
  )
  await templates('push', dir)
  expect((await client.templates.get('parcel')).template.version).toBe(2)
  const other = newFolder()
  expect(await templates('pull', other.path, 'brand', 'parcel')).toMatchObject({ code: 0 })
  for (const [file, text] of Object.entries(files)) {
    const expected = file === 'brand/email.en.html' ? '<b>New</b>{{content}}\n' : text
    expect(readFileSync(join(other.path, file), 'utf8'), file).toBe(expected)
  }
  other.remove()
  expect((await templates('diff', dir)).code).toBe(0)
})

test('show, versions, publish and delete work on one template', async () => {
  write(dir, ORDER)
  await templates('push', dir)
  const { version } = (await client.templates.get('order-ready')).template
  write(dir, { 'order-ready/sms.en.txt': 'New\n' })
  await templates('push', dir)
  expect((await templates('show', 'order-ready')).stdout).toContain('sms.en.txt\nNew\n')
  const old = await templates('show', 'order-ready', String(version))
  expect(old.stdout).toContain('sms.en.txt\nHi {{name}}')
  expect((await templates('publish', 'order-ready', String(version))).stdout).toBe(
    `order-ready has version ${Number(version) + 2}.\n`,
  )
  expect((await templates('versions', 'order-ready')).stdout.split('\n').slice(0, 2)).toEqual([
    expect.stringContaining(`${Number(version) + 2}\t`),
    expect.stringContaining(`${Number(version) + 1}\t`),
  ])
  expect((await templates('publish', 'order-ready', 'x')).code).toBe(2)
  expect((await templates('delete', 'order-ready')).stderr).toContain('add --yes')
  expect((await templates('delete', 'order-ready', '--yes')).stdout).toBe('Template deleted\n')
  expect((await templates('show', 'order-ready')).stderr).toContain('Template not found')
})

test('any template is the same after its files were written and read', async () => {
  const text = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.string({
      unit: fc.constantFrom('---', '\n', '\r', '\r\n', '\uFEFF', ' ', 'a', ': ', '{{b}}'),
    }),
  )
  const filled = text.filter((value) => value !== '')
  const content = {
    sms: fc.record({ text: filled }),
    voice: fc.record({ text: filled, language: filled }, { requiredKeys: ['text'] }),
    email: fc.record(
      {
        ...{ subject: filled, html: filled, text: filled, layout: filled, preview_text: filled },
        ...{ inline_css: fc.boolean(), tags: fc.array(filled, { maxLength: 2 }) },
      },
      { requiredKeys: ['html'] },
    ),
    whatsapp: fc.record({ template: fc.record({ name: filled, language: filled }) }),
  }
  const variant = fc.constantFrom('sms', 'voice', 'email', 'whatsapp').chain((channel) =>
    fc.record({
      channel: fc.constant(channel),
      locale: fc.constantFrom('en', 'de', 'de-AT', 'zh-Hant-TW'),
      content: content[channel as keyof typeof content] as fc.Arbitrary<object>,
    }),
  )
  const template = fc.record({
    name: fc.constant('a.b-c_1'),
    description: text,
    category: fc.constantFrom('marketing', 'transactional', 'layout'),
    default_locale: fc.constantFrom('en', 'no', '1e3'),
    variables: fc.array(fc.record({ name: filled, type: fc.constant('text'), fallback: text }), {
      maxLength: 2,
    }),
    variants: fc.uniqueArray(variant, {
      minLength: 1,
      selector: ({ channel, locale }) => `${channel}.${locale}`,
    }),
  })
  const folder = newFolder()
  const here = { cwd: folder.path }
  await fc.assert(
    fc.asyncProperty(template, async (given) => {
      rmSync(join(folder.path, 'all'), { recursive: true, force: true })
      const files = await filesOf(storedForm(given as never))
      await writeFiles('all', given.name, files, here)
      const [read] = await readFolder('all', here)
      expect(await filesOf(storedForm(read as never))).toEqual(files)
      const byName = (one: { channel: string; locale: string }) => `${one.channel}.${one.locale}`
      const sorted = given.variants.toSorted((a, b) => (byName(a) < byName(b) ? -1 : 1))
      const { description = '', variables = [], ...rest } = read as FolderTemplate
      const variants = (rest as unknown as typeof given).variants
      expect({
        ...rest,
        description,
        variables,
        variants: variants.toSorted((a, b) => (byName(a) < byName(b) ? -1 : 1)),
      }).toEqual({ ...given, variants: sorted })
    }),
    { numRuns: 400 },
  )
  folder.remove()
})
