import { deepStrictEqual } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

/** The faults of the page: script errors, refused loads, requests to other hosts than `urls`. */
export function watch(page: Page, ...urls: string[]): string[] {
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (line) => {
    if (line.type() === 'error') faults.push(line.text())
  })
  page.on('request', (request) => {
    const isOwn = [...urls, 'data:'].some((start) => request.url().startsWith(start))
    if (!isOwn) faults.push(`a request to ${request.url()}`)
  })
  return faults
}

/** Checks that no part of the page or of an open dialog is beyond its edge. */
export async function expectToFit(page: Page): Promise<void> {
  const wide = await page.evaluate<string[]>(`[...document.querySelectorAll('html, .dialog-body')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ scrollWidth, clientWidth }) => scrollWidth + ' pixels wide in ' + clientWidth)`)
  deepStrictEqual(wide, [], page.url())
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

const SCHEMES = ['light', 'dark'] as const

/** Checks that axe-core finds no serious fault of accessibility, in light and in dark colours. */
export async function expectAccessible(
  page: Page,
  schemes: readonly (typeof SCHEMES)[number][] = SCHEMES,
): Promise<void> {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    // The page's policy forbids inline scripts, but not what the debugger evaluates.
    await page.evaluate(readFileSync(AXE, 'utf8'))
    const faults = await page.evaluate<string[]>(`axe.run().then(({ violations }) =>
      violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`)
    deepStrictEqual(faults, [], `${page.url()}, ${colorScheme}`)
  }
}
