import { join } from 'node:path'
import { type BulksSendBody, type MessagesSendBody, Svc } from '@svc/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { newFolder, svc, svcJson } from './svc.ts'

let server: DevServer
let client: Svc
const folder = newFolder()

beforeAll(async () => {
  server = await startDevServer()
  const { url: baseUrl, workspace, password } = server
  const { token } = await new Svc({ baseUrl }).workspaces.login({
    email: workspace.email,
    password,
  })
  client = new Svc({ baseUrl, apiKey: server.api_key, token })
  await client.workspaces.updateAccount({
    postal_address: 'Żółw & Co\nMain Street 1',
    sms_opt_out_text: 'STOP to end',
  })
  const html = `<html><head><style>p{color:red}</style></head><body>{{content}}<p>{{name}}</p></body></html>`
  const variants = [{ channel: 'email' as const, locale: 'de', content: { html } }]
  await client.templates.create({ name: 'brand', category: 'layout', variants })
  await client.templates.publish('brand', {})
})
afterAll(async () => {
  await server.close()
  folder.remove()
})

const VALUES = { city: '<Łódź> & "x"', offers: 3 }
const NAME = "Asha O'Neil <b>"
const RECIPIENTS = {
  sms: '+15005550006',
  email: 'delivered@sandbox.svc',
  whatsapp: '+15005550009',
}

const TEXT =
  'Hi {{name|there}}, {{#if offers}}{{offers}} offers in {{city}}{{else}}none{{/if}} 🎉 {{gone|–}}'
const CONTENTS = {
  sms: { text: TEXT },
  email: {
    subject: TEXT,
    preview_text: TEXT,
    layout: 'brand',
    html: `<p>${TEXT}</p><ul><li>a &amp; b</li></ul>`,
  },
  whatsapp: { text: TEXT },
}

const text = async (id: string) => JSON.stringify((await client.messages.get(id)).message.content)

test.each(['sms', 'email', 'whatsapp'] as const)(
  'one template is the same %s by API, bulk, broadcast, preview and the command',
  async (channel) => {
    const name = `news-${channel}`
    const variants = [
      { channel, locale: 'en', content: { ...CONTENTS[channel], text: 'English' } },
      { channel, locale: 'de', content: CONTENTS[channel] },
    ]
    await client.templates.create({
      ...{ name, category: 'marketing' },
      variants: variants as never,
    })
    await client.templates.publish(name, {})
    const to = RECIPIENTS[channel]
    const { contact } = await client.contacts.create({
      ...{ name: NAME, tags: [channel] },
      ...(channel === 'email' ? { email: to } : { phone: to }),
    })
    const template = { name, locale: 'de-AT', variables: VALUES }
    const all = { ...VALUES, name: NAME }

    const sent = await client.messages.send({
      ...{ to, channel },
      template: { ...template, variables: all },
    } as MessagesSendBody)
    const direct = await text(sent.message_id)
    const found: Record<string, string> = {}

    const bulk = await client.bulks.send({
      ...{ channel, template },
      recipients: [{ contact_id: contact.id }],
    } as BulksSendBody)
    found.bulk = await text(bulk.messages[0]?.message_id ?? '')

    const audience = { tags: [channel] }
    const shown = await client.broadcasts.preview({ channel, template, audience })
    found['preview of a broadcast'] = JSON.stringify(shown.preview.samples[0]?.content)
    const { broadcast } = await client.broadcasts.create({ channel, template, audience })
    await expect
      .poll(async () => (await client.broadcasts.get(broadcast.id)).broadcast.status, {
        timeout: 20_000,
      })
      .toBe('finished')
    const { messages } = await client.messages.list({ template: name, limit: 1 })
    found.broadcast = await text(messages[0]?.id ?? '')

    const { preview } = await client.templates.preview({
      ...{ name, channel, locale: 'de-AT', variables: all },
    })
    found.preview = JSON.stringify(preview.content)

    const dir = join(folder.path, name)
    expect((await svc(['templates', 'pull', dir, name], server.here)).code).toBe(0)
    const of = ['--channel', channel, '--locale', 'de-AT']
    const values = ['--var', `name=${NAME}`, `city=${VALUES.city}`, 'offers=3']
    const { previews } = await svcJson<{ previews: { content: object }[] }>(
      ['templates', 'preview', dir, ...of, ...values],
      server.here,
    )
    found.command = JSON.stringify(previews[0]?.content)

    for (const [way, content] of Object.entries(found))
      expect([way, content]).toEqual([way, direct])
    expect(direct).toContain('Hi Asha')
    if (channel === 'sms') expect(direct).toContain('STOP to end')
    if (channel === 'email') {
      expect(direct).toContain('Main Street 1')
      expect(direct).toContain('<p style=\\"color: red;\\">Asha O&#39;Neil &lt;b&gt;</p>')
    }
    // The price of the preview is that of the message.
    const { message } = await client.messages.get(messages[0]?.id ?? '')
    expect(shown.preview.credits_needed).toBe(message.credits_used)
    if (channel === 'sms') expect(preview.segments).toBe(message.segments)
  },
)
