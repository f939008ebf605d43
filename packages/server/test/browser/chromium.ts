import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

export type { Page } from 'playwright-core'

const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome.exe',
]

/** The Chromium in `SVC_CHROMIUM`, or an installed one; null for none. */
function findChromium(): string | null {
  const named = process.env.SVC_CHROMIUM
  if (named) return named
  const folders = (process.env.PATH ?? '').split(delimiter)
  const places = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return [...places, chromium.executablePath()].find((place) => existsSync(place)) ?? null
}

/** Starts a browser; null if none is installed. */
export async function launchChromium(): Promise<Browser | null> {
  const executablePath = findChromium()
  return executablePath ? chromium.launch({ executablePath, args: ['--no-sandbox'] }) : null
}
