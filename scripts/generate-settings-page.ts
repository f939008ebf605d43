/** Writes the tables of docs/operating/configuration.md from the settings: `npm run docs`. A test compares the two. */
import { writeFileSync } from 'node:fs'
import { SETTINGS_PAGE, settingsPage } from './settings-page.ts'

writeFileSync(SETTINGS_PAGE, settingsPage())
