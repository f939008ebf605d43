import { deepStrictEqual } from 'node:assert/strict'
import type { Browser, Locator, Page } from 'playwright-core'
import { LOGINS, openTrial, TRIAL } from './trial-week.ts'

/** The most clicks of a task. ⌘K counts as one, typing does not. */
const CLICKS_MAX = 5

type Trial = Awaited<ReturnType<typeof openTrial>>

/** A person at one page, whose clicks count. */
function handsOf(page: Page, trial: Trial) {
  let clicks = 0
  const main = page.locator('main')
  const dialog = page.getByRole('dialog').last()
  async function click(on: Locator): Promise<void> {
    await on.first().click()
    clicks++
  }
  const link = (name: string | RegExp) => click(page.getByRole('link', { name }))
  const button = (name: string | RegExp) =>
    click(page.getByRole('button', { name, exact: typeof name === 'string' }))
  return {
    ...{ page, trial, main, dialog, click, link, button },
    clicks: () => clicks,
    /** Opens the palette and writes into it. */
    async goTo(text: string) {
      await page.keyboard.press('Control+k')
      clicks++
      await dialog.getByRole('combobox').fill(text)
      await dialog.getByRole('option', { name: text }).first().waitFor()
    },
    see: (text: string | RegExp, where: Locator = page.locator('body')) =>
      where.getByText(text).first().waitFor(),
    field: (label: string, value: string) => page.getByLabel(label, { exact: true }).fill(value),
    /** The button of the open dialog that makes the change. */
    confirm: (name: string | RegExp) => click(dialog.getByRole('button', { name })),
  }
}

type Hands = ReturnType<typeof handsOf>
type Task = readonly [name: string, walk: (hands: Hands) => Promise<void>]

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)

const AS_MEMBER: readonly Task[] = [
  [
    'send',
    async ({ link, button, field, see, dialog }) => {
      await link('New message')
      await field('Recipient', '+15005550006')
      await field('Text', 'Your order is ready')
      await button('Send')
      await see('delivered', dialog)
    },
  ],
  [
    'send to a contact by name',
    async ({ page, link, button, field, click, see, dialog }) => {
      await link('New message')
      await page.getByRole('combobox', { name: 'Recipient' }).fill(TRIAL.person)
      await click(page.getByRole('option', { name: TRIAL.person }))
      await field('Text', 'Hello')
      await button('Send')
      await see('delivered', dialog)
    },
  ],
  [
    'one failure and why',
    async ({ page, main, click, see, dialog }) => {
      const failed = main.locator('.card', {
        has: page.getByRole('heading', { name: 'Failed', exact: true }),
      })
      const shown = await failed.locator('.figure').textContent()
      await click(failed.getByRole('link'))
      // The number is that of the list.
      await see(new RegExp(`^${shown} messages$`), main.locator('.pager'))
      await click(main.locator('tbody tr', { hasText: 'No route to this network' }).locator('a'))
      await see('All messages with this error', dialog)
    },
  ],
  [
    'all failures by reason',
    async ({ main, click, see }) => {
      await click(main.getByRole('link', { name: 'landline' }))
      await see('The number is a landline and takes no SMS', main)
    },
  ],
  [
    'all messages of a person',
    async ({ goTo, click, dialog, main, see }) => {
      await goTo(TRIAL.person)
      await click(dialog.getByRole('option', { name: `${TRIAL.person}, ` }))
      await see('Sent by a bulk', main)
    },
  ],
  [
    'reply',
    async ({ main, link, click, field, button, see }) => {
      await link('Received')
      await click(main.getByRole('link', { name: /Is the shop open/ }))
      await field('Reply', 'Yes, from 9:00')
      await button('Send')
      await see('Yes, from 9:00', main)
    },
  ],
  [
    'schedule and cancel',
    async ({ link, button, field, confirm, dialog, see }) => {
      await link('New message')
      await field('Recipient', '+15005550006')
      await field('Text', 'Tomorrow')
      await field('Send at', tomorrow())
      await button('Schedule')
      await confirm('Cancel message')
      await see('Cancel this message?')
      await confirm('Cancel message')
      await see('canceled', dialog)
    },
  ],
  [
    'test a repaired webhook',
    async ({ trial, main, click, button, see, dialog }) => {
      trial.repair()
      await click(main.getByRole('link', { name: /crm fail/ }))
      await button('Send test event')
      await see('webhook.test')
      await see('delivered', dialog)
    },
  ],
  [
    'replay',
    async ({ main, link, click, button, confirm, see }) => {
      await link('Webhooks')
      await click(main.getByRole('link', { name: /crm/ }))
      await button('Recover')
      await confirm('Recover')
      await see(/^\d+ deliver(y|ies) queued again$/)
    },
  ],
  [
    'rotate a secret',
    async ({ main, link, click, button, confirm, see }) => {
      await link('Webhooks')
      await click(main.getByRole('link', { name: /orders/ }))
      await button('Replace secret')
      await confirm('Replace secret')
      await see('Copy it now')
    },
  ],
  [
    'import with a bad row',
    async ({ page, main, link, click, confirm, dialog, see }) => {
      await link('Contacts')
      await click(
        main.getByRole('link', { name: 'Import' }).or(main.getByRole('button', { name: 'Import' })),
      )
      const buffer = Buffer.from('name,phone\nNia,+254733000001\nBad,12\n')
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'c.csv', mimeType: 'text/csv', buffer })
      await confirm(/^Import/)
      await see(/line 3|Line 3|row 3/, dialog)
    },
  ],
  [
    'bulk to a tag',
    async ({ page, goTo, button, field, confirm, dialog, see }) => {
      await goTo('New bulk')
      await page.keyboard.press('Enter')
      await button('From contacts')
      await dialog.getByLabel('Tag').fill('vip')
      await confirm('Use them')
      // Behind an open dialog, no field takes a text.
      await dialog.waitFor({ state: 'detached' })
      await field('Text', 'Hello')
      await button(/^Send to 1\d recipients/)
      await confirm(/^Send$/)
      await see('Messages of this bulk', dialog)
    },
  ],
  [
    'bulk to an offered tag',
    async ({ main, goTo, page, button, click, field, confirm, dialog, see }) => {
      await goTo('New bulk')
      await page.keyboard.press('Enter')
      await click(main.getByRole('button', { name: 'All contacts with the tag vip' }))
      await field('Text', 'Hello again')
      await button(/^Send to 1\d recipients/)
      await confirm(/^Send$/)
      await see('Messages of this bulk', dialog)
    },
  ],
  [
    'stop a bulk',
    async ({ main, link, click, confirm, see }) => {
      await link('Bulks')
      await click(main.getByRole('link', { name: new RegExp(TRIAL.waitingBulk) }))
      await confirm('Cancel queued messages')
      await confirm('Cancel messages')
      await see('59 messages canceled')
    },
  ],
  [
    'invite a viewer',
    async ({ link, button, dialog, confirm, see, main }) => {
      await link('Team')
      await button('Invite')
      await dialog.getByLabel('E-mail address').fill('aunt@example.com')
      await dialog.getByLabel('Role').selectOption({ label: 'Viewer' })
      await confirm('Send the invitation')
      await see('aunt@example.com', main)
    },
  ],
  [
    'why credits fell',
    async ({ page, main, link, see }) => {
      const cardOf = (name: string) =>
        main.locator('.card', { has: page.getByRole('heading', { name, exact: true }) })
      const spent = await cardOf('Spent').locator('.money').textContent()
      await link('Credits')
      await link('Where credits went')
      await see('mango-week', main)
      await see('At this pace', main)
      await see(spent ?? '–', cardOf('Spent'))
    },
  ],
]

const AS_OPERATOR: readonly Task[] = [
  [
    'find the stuck provider',
    async ({ page }) => {
      await page.getByText('acme-voice does not answer').waitFor({ timeout: 60_000 })
    },
  ],
  [
    'pause it',
    async ({ page, link, button, field, confirm }) => {
      await link('Providers')
      await button('Pause')
      await field('Reason', 'It does not answer')
      await confirm('Pause')
      await page.getByRole('button', { name: 'Resume' }).first().waitFor()
    },
  ],
  [
    'pause all',
    async ({ page, link, button, field, confirm }) => {
      await link('Queues')
      await button('Pause all')
      await field('Reason', 'The network moves')
      await confirm('Pause all')
      await page.getByRole('button', { name: 'Resume' }).first().waitFor()
    },
  ],
  [
    'freeze',
    async ({ link, button, field, confirm, see }) => {
      await link('Workspaces')
      await link('Ziwa Logistics')
      await button('Freeze')
      await field('Reason', 'Complaints')
      await confirm('Freeze')
      await see('reason: Complaints')
    },
  ],
  [
    'verify the ledger',
    async ({ link, button, see }) => {
      await link('Ledger and backups')
      await button('Verify the ledger')
      await see(/^consistent$/)
    },
  ],
  [
    'backup',
    async ({ link, button, see }) => {
      await link('Ledger and backups')
      await button('Make a backup now')
      await see(/svc-\d.*\.db/)
    },
  ],
  [
    'who froze which workspace',
    async ({ page, link, click, see }) => {
      await link('Audit log')
      await click(page.getByLabel('Action'))
      await page.getByLabel('Action').selectOption('workspace.frozen')
      await see('ticket 4471')
      await see(TRIAL.frozen)
    },
  ],
  [
    "a failed bulk's cause",
    async ({ page, link }) => {
      await link('Workspaces')
      await link(TRIAL.workspace)
      const bulks = page.getByRole('table', { name: 'Newest bulks' })
      await bulks.locator('tr', { hasText: TRIAL.failedBulk }).getByText('landline 40').waitFor()
    },
  ],
  [
    "a customer's purchase",
    async ({ link, dialog, click, main, see }) => {
      await link('Workspaces')
      await link(TRIAL.customer)
      await click(dialog.getByRole('link', { name: 'Purchases' }))
      await see('90.00 USD', main)
    },
  ],
]

/** Does the tasks of a member and of an operator with a week of data, each from the first page. None needs more than five clicks. */
export async function walkTrial(browser: Browser): Promise<void> {
  const trial = await openTrial()
  try {
    const size = { width: 1280, height: 900 }
    const member = await browser.newPage({ viewport: size })
    await member.goto(`${trial.url}/console/sign-in`)
    await member.getByLabel('E-mail address').fill(LOGINS.owner)
    await signIn(member)
    await member.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    const operator = await browser.newPage({ viewport: size })
    await operator.goto(`${trial.url}/console/operator`)
    await operator.getByLabel('Name').fill(LOGINS.operator)
    await signIn(operator)
    await operator.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const stopped: string[] = []
    const doAll = async (page: Page, start: string, tasks: readonly Task[]) => {
      for (const [name, walk] of tasks) {
        await page.goto(trial.url + start)
        await page.locator('body:not(:has([aria-busy=true]))').waitFor()
        const hands = handsOf(page, trial)
        await walk(hands).catch((error: Error) => stopped.push(`${name}: ${error.message}`))
        if (process.env.SVC_TRIAL_COUNTS) console.log(`${name}: ${hands.clicks()} clicks`)
        if (hands.clicks() > CLICKS_MAX) stopped.push(`${name}: ${hands.clicks()} clicks`)
      }
    }
    await doAll(member, '/console', AS_MEMBER)
    await doAll(operator, '/console/operator', AS_OPERATOR)
    deepStrictEqual(stopped, [])
    await member.close()
    await operator.close()
  } finally {
    await trial.close()
  }
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(LOGINS.password)
  await page.keyboard.press('Enter')
}
