import { ok, strictEqual } from 'node:assert/strict'
import { Svc } from '@svc/client'
import type { Page } from 'playwright-core'
import { type Place, pictures } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

const TAG = 'vip'
/** What the sandbox delivers, and what it lets fail. */
const PEOPLE = [
  { name: 'Asha', phone: '+4915123000001', attributes: { time_zone: 'Europe/Berlin' } },
  { name: 'ليلى', phone: '+255700000301', attributes: { time_zone: 'Africa/Nairobi' } },
  { name: 'Jürg', phone: '+15005550001', attributes: { time_zone: 'America/New_York' } },
] as const
const SUPPRESSED = '+255700000302'

async function see(page: Page, name: string): Promise<void> {
  await page.locator('body:not(:has([aria-busy=true]))').waitFor()
  await expectToFit(page)
  await pictures(page, name)
  await expectAccessible(page)
}

/** The template and the contacts that a program has made before. */
async function prepare({ url, key }: Place, name: string): Promise<void> {
  const svc = new Svc({ baseUrl: url, apiKey: key })
  await svc.templates.create({
    ...{ name, category: 'marketing', default_locale: 'en' },
    variables: [{ name: 'offer', type: 'text' }],
    variants: [
      { channel: 'sms', locale: 'en', content: { text: 'Hi {{name|there}}: {{offer}}' } },
      { channel: 'sms', locale: 'de', content: { text: 'Halo {{name|du}}: {{offer}}' } },
    ],
  })
  await svc.templates.publish(name, {})
  if ((await svc.contacts.list({ tag: TAG })).contacts.length > 0) return
  for (const one of PEOPLE) await svc.contacts.create({ ...one, tags: [TAG] })
  await svc.contacts.create({ name: 'Left', phone: SUPPRESSED, tags: [TAG] })
  await svc.suppressions.add({ channel: 'sms', address: SUPPRESSED, reason: 'opt_out' })
}

/**
 * A person who does not program corrects the German text of a template, looks at it on a phone, publishes it, sends it to a tag,
 * and watches it arrive. Another broadcast is scheduled, paused, continued and canceled.
 */
export async function walkBroadcast(page: Page, place: Place): Promise<void> {
  const { url, key } = place
  const name = `spring-${page.viewportSize()?.width}`
  await prepare(place, name)
  const dialog = page.getByRole('dialog')

  await page.goto(`${url}/console/settings`)
  await page.getByLabel('Opt-out text of SMS').fill('STOP to end')
  await page.getByRole('button', { name: 'Save closing texts' }).click()
  await page.getByText('Saved').waitFor()
  await see(page, 'Marketing')

  await page.goto(`${url}/console/templates`)
  await page.getByRole('link', { name, exact: true }).click()
  await page.getByLabel('Language', { exact: true }).selectOption('de')
  const text = page.getByLabel('Text', { exact: true })
  await text.fill((await text.inputValue()).replace('Halo', 'Hallo'))
  const phone = page.getByRole('region', { name: 'Preview' })
  await phone.getByText(/^Hallo du: .*STOP to end$/s).waitFor()
  await page.getByRole('button', { name: 'Publish…' }).click()
  await dialog.locator('ins', { hasText: 'Hallo' }).waitFor()
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click()
  await page.getByText('version 2', { exact: true }).waitFor()

  await page.getByRole('link', { name: 'Send as broadcast' }).click()
  await page.getByRole('heading', { level: 1, name: 'New broadcast' }).waitFor()
  await page.getByLabel('Language', { exact: true }).selectOption('de')
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByText('No value for {{offer}}').waitFor()
  await page.getByLabel('Value of offer').fill('Tee für alle')
  await page.getByRole('button', { name: `Tags: add ${TAG}` }).click()
  await preview.getByText('3 messages').waitFor()
  await preview.getByText('of 4 contacts. Nothing is charged yet.').waitFor()
  await preview.getByText('Hallo Asha: Tee für alle').waitFor()
  const samples = preview.getByRole('tablist', { name: 'Samples' })
  await samples.getByRole('tab', { name: '1', exact: true }).focus()
  await page.keyboard.press('ArrowRight')
  await preview.getByText('Hallo ليلى: Tee für alle').waitFor()
  await see(page, 'Broadcast-new')
  const svc = new Svc({ baseUrl: url, apiKey: key })
  const before = (await svc.messages.list({ template: name })).pagination.total
  strictEqual(before, 0)

  await page.getByLabel('Begin').selectOption('recipient')
  // Nine in the morning of yesterday is past everywhere, so that the person sees the messages arrive.
  await page.getByLabel('Date and time').fill(nineOn(-2))
  await preview.getByText('For some recipients this time is past').waitFor()
  await page.getByRole('button', { name: 'Schedule for 3 contacts…' }).click()
  await dialog.getByText(/^Send 3 messages for \d/).waitFor()
  await dialog.getByText('when its own clocks show').waitFor()
  await pictures(page, 'Broadcast-confirm')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Schedule', exact: true }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  const results = page.getByRole('region', { name: 'Results' })
  const figure = (term: string) =>
    results.locator('div', { has: page.locator('dt', { hasText: term }) }).locator('.figure')
  // Nothing is clicked: the page follows the broadcast.
  await figure('Delivered').getByText('2', { exact: true }).waitFor()
  await figure('Failed').getByText('1', { exact: true }).waitFor()
  await page.getByText('finished', { exact: true }).waitFor()
  await results.getByText('1 suppressed').waitFor()
  await page.getByText('on the clock of each recipient').waitFor()
  await see(page, 'Broadcast')
  await page.getByRole('link', { name: 'Show the failed messages' }).click()
  await page.getByRole('button', { name: 'One broadcast only' }).waitFor()
  await page.locator('tbody tr', { hasText: 'Jürg' }).waitFor()
  strictEqual(await page.locator('tbody tr').count(), 1)
  await page.goBack()
  await page.getByRole('link', { name: 'All broadcasts' }).click()
  await page.locator('tbody tr', { hasText: name }).waitFor()
  await see(page, 'Broadcasts')
  await pauseAndCancel(page, place, name)
}

/** Nine in the morning of a day, as an input for dates and times takes it. */
const nineOn = (days: number) =>
  `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T09:00`

async function pauseAndCancel(page: Page, { url, key }: Place, name: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await page.goto(`${url}/console/broadcasts/new?template=${name}`)
  await page.getByLabel('Value of offer').fill('Tea')
  await page.getByLabel('Tags', { exact: true }).fill(TAG)
  await page.getByLabel('Attributes', { exact: true }).fill('time_zone Europe/Berlin')
  await page.getByText('must be name = value').waitFor()
  await page.getByLabel('Attributes', { exact: true }).fill('time_zone = Europe/Berlin')
  await page.getByLabel('Name', { exact: true }).fill('Later')
  // A look at another page loses nothing.
  await page.getByRole('link', { name: 'All broadcasts' }).click()
  await page.getByRole('link', { name: 'New broadcast' }).first().click()
  strictEqual(await page.getByLabel('Name', { exact: true }).inputValue(), 'Later')
  strictEqual(await page.getByLabel('Value of offer').inputValue(), 'Tea')
  await page.getByLabel('Begin').selectOption('recipient')
  await page.getByLabel('Date and time').fill(nineOn(2))
  await page
    .getByRole('region', { name: 'Preview' })
    .getByText('1 message: Europe/Berlin')
    .waitFor()
  await see(page, 'Broadcast-zones')
  await page.getByLabel('Date and time').fill('')
  await page.getByText('Choose a date and a time').waitFor()
  await page.getByLabel('Begin').selectOption('later')
  await page
    .getByRole('region', { name: 'Preview' })
    .getByText('1 message', { exact: true })
    .waitFor()
  await page.getByRole('button', { name: 'Schedule for 1 contact…' }).click()
  await dialog.getByRole('button', { name: 'Schedule', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Later' }).waitFor()
  await page.getByText('scheduled', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused. Messages that wait').waitFor()
  await see(page, 'Broadcast-paused')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('scheduled', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Cancel broadcast' }).click()
  await dialog.getByRole('button', { name: 'Cancel the broadcast' }).click()
  await page.getByText('canceled', { exact: true }).waitFor()
  const { broadcasts } = await new Svc({ baseUrl: url, apiKey: key }).broadcasts.list({ limit: 1 })
  strictEqual(broadcasts[0]?.status, 'canceled')
}

/** Sets quiet hours that hold now, sees what they do in words, and sees that a message says until when it waits. */
export async function walkQuietHours(page: Page, { url, key }: Place): Promise<void> {
  const svc = new Svc({ baseUrl: url, apiKey: key })
  await page.goto(`${url}/console/settings`)
  await page.getByRole('button', { name: 'Add quiet hours' }).click()
  await page
    .getByText('Marketing messages wait from 21:00 to 08:00 on the next day, every day.')
    .waitFor()
  await page.getByText('due on Monday at 22:00 is sent on Tuesday at 08:00.').waitFor()
  const rule = page.getByRole('group', { name: 'Quiet hours 1' })
  // A window around now, so that it holds whenever the walk is done.
  const around = (minutes: number) =>
    new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16)
  await rule.getByLabel('From').fill(around(-120))
  await rule.getByLabel('Until').fill(around(120))
  await rule.getByLabel('For').selectOption('transactional')
  await page.getByLabel('Zone of recipients').selectOption('')
  await see(page, 'Quiet-hours')
  await page.getByRole('button', { name: 'Save quiet hours' }).click()
  await page.getByText('Saved').waitFor()
  const mail = {
    channel: 'email',
    to: 'night@example.com',
    content: { subject: 'Hush', text: 'x' },
  } as const
  const { deferred_until } = await svc.messages.send(mail)
  ok(deferred_until !== undefined)
  await page.goto(`${url}/console/messages`)
  const row = page.locator('tbody tr', { hasText: 'Hush' }).first()
  await row.getByText('deferred').waitFor()
  await see(page, 'Messages-deferred')
  await row.getByRole('link').click()
  await page.getByRole('dialog').getByText('Quiet hours until').waitFor()
  await see(page, 'Message-deferred')
  await page.goto(`${url}/console/settings`)
  await page.getByRole('button', { name: 'Remove Quiet hours 1' }).click()
  await page.getByText('There are none').waitFor()
  await page.getByRole('button', { name: 'Save quiet hours' }).click()
  await page.getByText('Saved').waitFor()
}
