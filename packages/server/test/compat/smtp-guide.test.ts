import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openInletStage } from './inlet-stage.ts'

const run = promisify(execFile)
const page = readFileSync(new URL('../../../../docs/guides/smtp-inlet.md', import.meta.url), 'utf8')

function block(info: string): string {
  const [, code] = page.split(`\`\`\`${info}\n`)
  return code?.split('```')[0] ?? ''
}

it.each([
  ['js nodemailer', 'node', 'mjs'],
  ['python smtplib', 'python3', 'py'],
])('the program %s of the guide sends', async (info, command, ending) => {
  const stage = await openInletStage({ dispatch: true })
  const { key } = await stage.world.key(await stage.world.signup({ credits: 1 }))
  // Beside this file, so that the program finds its packages.
  const file = fileURLToPath(new URL(`guide-program-${process.pid}.${ending}`, import.meta.url))
  const code = block(info).replaceAll('2525', `${stage.port}`).replaceAll('svc_…', key)
  writeFileSync(file, code)
  try {
    const { stdout } = await run(command, [file])
    if (ending === 'mjs') expect(stdout).toMatch(/^250 2\.6\.0 Queued as [0-9a-f-]{36}\n$/)
    const { body } = await stage.world.call('GET', '/api/v1/messages', { key })
    expect(body.data.messages).toMatchObject([
      {
        recipient: 'asha@example.com',
        content: { subject: 'Your order A1', text: 'It is ready.' },
      },
    ])
  } finally {
    rmSync(file)
    await stage.close()
  }
})
