import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { SETTINGS_PAGE, settingsPage } from '../scripts/settings-page.ts'

it('configuration.md has the tables that follow from the settings (else: npm run docs)', () => {
  expect(readFileSync(SETTINGS_PAGE, 'utf8')).toBe(settingsPage())
})
