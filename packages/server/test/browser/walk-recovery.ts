import { strictEqual } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Svc } from '@svc/client'
import type { Browser } from 'playwright-core'

const SVC = fileURLToPath(new URL('../../../cli/bin/svc.js', import.meta.url))

/**
 * Kills `svc dev` while the console reads its stream, sends messages before the console is connected again, and expects all of
 * them on the page, which is not loaded again.
 */
export async function walkRecovery(browser: Browser): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-recovery-'))
  let service = await start(folder, '0')
  const page = await browser.newPage()
  try {
    const { url } = service
    const send = (text: string) =>
      new Svc({ baseUrl: url, apiKey: service.api_key }).messages.send({
        channel: 'sms',
        to: '+15005550006',
        content: { text },
      })
    const shown = (id: string) => page.locator(`tbody a[href*="${id}"]`)
    await page.goto(`${url}/console/messages`)
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor()
    await shown((await send('Before')).message_id).waitFor()
    await page.evaluate('window.isSame = true')
    const connection = page.locator('.connection', { hasText: 'Connection lost' })

    await service.kill()
    await connection.waitFor()
    service = await start(folder, new URL(url).port)
    const ids = []
    for (let i = 0; i < 3; i++) ids.push((await send(`Meanwhile ${i}`)).message_id)
    await connection.waitFor({ state: 'detached' })
    for (const id of ids) await shown(id).waitFor()
    await shown((await send('After')).message_id).waitFor()
    strictEqual(await page.evaluate('window.isSame'), true)
  } finally {
    await page.close()
    await service.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs `svc dev`. */
async function start(folder: string, port: string) {
  const args = [SVC, 'dev', '--json', '--port', port, '--data-dir', folder]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    ended.then(() => Promise.reject(new Error('svc dev ended'))),
  ])) as [string]
  const { url, api_key } = JSON.parse(line) as { url: string; api_key: string }
  return {
    url,
    api_key,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
