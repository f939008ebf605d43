import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Svc } from '@svc/client'
import type { Locator, Page } from 'playwright-core'
import { expectAccessible, expectToFit, watch } from './page-checks.ts'

interface Place {
  url: string
  /** A live key of the demo workspace. */
  key: string
}

/** Uses the tools of `svc dev` without a password: reads mails, writes from the phone with the keyboard only, follows the requests. */
export async function walkTools(page: Page, place: Place): Promise<void> {
  const faults = watch(page, place.url)
  await page.goto(`${place.url}/dev`)
  await page.getByRole('heading', { level: 1, name: 'Quick start' }).waitFor()
  ok(page.url().endsWith('/console/tools'))
  await page.getByText(`X-API-Key: ${place.key}`).waitFor()
  await talkWithKeyboard(page, place)
  await followRequests(page, place)
  deepStrictEqual(faults, [])
  await readHostileMail(page, place)
}

/** A message arrives on the phone, its recipient replies by itself, and a written reply is received; no mouse. */
async function talkWithKeyboard(page: Page, { url, key }: Place): Promise<void> {
  const svc = new Svc({ baseUrl: url, apiKey: key })
  await page.goto(`${url}/console`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('Tab')
  strictEqual(await focusedText(page), 'Skip to content')
  // On a phone the navigation is behind a button.
  const menu = page.getByRole('button', { name: 'Menu' })
  if (await menu.isVisible()) {
    await tabTo(page, menu)
    await page.keyboard.press('Enter')
  }
  await tabTo(page, page.getByRole('link', { name: 'Phone', exact: true }))
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Phone' }).waitFor()
  const number = `+1415555${String(Math.floor(Math.random() * 10_000)).padStart(4, '0')}`
  await tabTo(page, page.getByLabel('Phone number', { exact: true }))
  await page.keyboard.type(number)
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: `Phone ${number}` }).waitFor()
  const bubble = (text: string) => page.locator('.bubble', { hasText: text })
  await svc.messages.send({ channel: 'sms', to: number, content: { text: 'Is it blue?' } })
  await bubble('Is it blue?').waitFor()
  await tabTo(page, page.getByLabel('Message from this phone'))
  await page.keyboard.type('<b>Green</b>')
  await page.keyboard.press('Enter')
  await bubble('<b>Green</b>').and(page.locator('.phone')).waitFor()
  const { received } = await svc.received.list({ sender: number })
  deepStrictEqual(
    received.map(({ content }) => content.text),
    ['<b>Green</b>'],
  )
  await expectToFit(page)
  await expectAccessible(page)
  await page.goto(`${url}/console/tools/phone/+15005550008`)
  const before = await bubble('Thank you!').count()
  await svc.messages.send({ channel: 'sms', to: '+15005550008', content: { text: 'Hello' } })
  await bubble('Thank you!').nth(before).waitFor()
}

/** A request appears without a reload, with its error; Enter opens it, Esc closes it. */
async function followRequests(page: Page, { url }: Place): Promise<void> {
  await page.goto(`${url}/console/tools/requests`)
  await page.locator('tbody tr').first().waitFor()
  const path = `/api/v1/nothing-${Math.random()}`
  await fetch(`${url}${path}?token=a-secret`)
  const link = page.getByRole('link', { name: `GET ${path}?token=•••` })
  await link.waitFor()
  await link.focus()
  await page.keyboard.press('Enter')
  const drawer = page.getByRole('dialog')
  await drawer.getByText('"Route not found"').waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await page.getByLabel('Result').selectOption('Refused (4xx)')
  await page.locator('tbody .badge.good').first().waitFor({ state: 'detached' })
}

async function readHostileMail(page: Page, { url, key }: Place): Promise<void> {
  const other = await openOther()
  const reached: string[] = []
  page.on('requestfinished', (request) => {
    if (!request.url().startsWith(url)) reached.push(request.url())
  })
  const html = `<title>taken</title><h1>Hello</h1><script>parent.document.title = 'taken'</script>
    <meta http-equiv="refresh" content="0;url=${other.url}"><img src="${other.url}/x.png">
    <link rel="stylesheet" href="${other.url}/x.css"><iframe src="${other.url}"></iframe>
    <form action="${other.url}"><button>Send</button></form><a href="${other.url}/link">Track it</a>`
  const subject = `Hostile ${Math.random()}`
  await page.goto(`${url}/console/tools/mails`)
  await page.getByRole('heading', { level: 1, name: 'Mails' }).waitFor()
  await new Svc({ baseUrl: url, apiKey: key }).messages.send({
    to: 'asha@example.com',
    channel: 'email',
    content: { subject, html, text: 'Plain words', attachments: [FILE] },
  })
  await page.getByRole('link', { name: subject }).click()
  const frame = page.frameLocator('iframe.mail-frame')
  await frame.locator('h1', { hasText: 'Hello' }).waitFor()
  await frame.getByRole('button').click()
  await page.getByText('from other hosts are not loaded').waitFor()
  strictEqual(await page.title(), 'Mails · svc')
  deepStrictEqual([reached, other.requests], [[], []])
  await expectToFit(page)
  await useTabs(page)
  const links = [frame.getByRole('link'), page.locator('.mail-links a')]
  for (const [i, link] of links.entries()) {
    const opening = page.context().waitForEvent('page')
    await link.click()
    const opened = await opening
    await opened.getByRole('heading', { name: '/link' }).waitFor()
    strictEqual(await opened.evaluate('opener'), null)
    await opened.close()
    deepStrictEqual(other.requests[i], { path: '/link', referer: undefined })
  }
  await other.close()
}

const FILE = { filename: 'invoice.pdf', content: Buffer.from('%PDF-1.4').toString('base64') }

/** The width of a phone, the text, the headers, the source and the attachment of a mail. */
async function useTabs(page: Page): Promise<void> {
  const tab = (name: string) => page.getByRole('tab', { name })
  await tab('Desktop').focus()
  await page.keyboard.press('ArrowRight')
  strictEqual(await tab('Phone').getAttribute('aria-selected'), 'true')
  const width = (await page.locator('iframe.mail-frame').boundingBox())?.width ?? 0
  ok(width <= 375, `a phone with ${width} pixels`)
  await tab('Text').click()
  await page.locator('pre', { hasText: 'Plain words' }).waitFor()
  await tab('Headers').click()
  await page.locator('pre', { hasText: 'List-Unsubscribe: <' }).waitFor()
  await tab('Source').click()
  await page.locator('pre', { hasText: 'Content-Transfer-Encoding' }).waitFor()
  await expectAccessible(page)
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: FILE.filename }).click()
  strictEqual((await downloading).suggestedFilename(), FILE.filename)
  await tab('Desktop').click()
}

/** Presses Tab until an element has the focus. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 120; presses++) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${target}`)
}

function focusedText(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.textContent.trim()')
}

/** Another host: its pages show their path. */
async function openOther() {
  const requests: { path: string | undefined; referer: string | undefined }[] = []
  const server = createServer(({ url, headers }, response) => {
    requests.push({ path: url, referer: headers.referer })
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(`<link rel="icon" href="data:,"><h1>${url}</h1>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
