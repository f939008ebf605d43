import { readFileSync } from 'node:fs'
import {
  SETTING_GROUPS,
  SETTING_TYPES,
  SETTINGS,
  type Setting,
} from '../packages/server/src/settings/table.ts'

/** The page that documents the settings. */
export const SETTINGS_PAGE = new URL('../docs/operating/configuration.md', import.meta.url)

const BEGIN = '<!-- The tables from here on are generated from the settings: npm run docs. -->'
const END = '<!-- The end of the generated tables. -->'

/** The text of the page with the tables that follow from the settings. */
export function settingsPage(): string {
  const text = readFileSync(SETTINGS_PAGE, 'utf8')
  const [before, rest = ''] = text.split(BEGIN)
  const [, after] = rest.split(END)
  if (after === undefined) throw new Error(`${SETTINGS_PAGE.pathname} lacks a marker of the tables`)
  return `${before}${BEGIN}\n\n${tables()}\n\n${END}${after}`
}

function tables(): string {
  const groups = Object.entries(SETTING_GROUPS).map(([group, title]) => {
    const rows = SETTINGS.filter((setting) => setting.group === group).map(rowOf)
    return [`### ${title}`, '', '| Variable | Type | Default | |', '|---|---|---|---|', ...rows]
  })
  return groups.map((lines) => lines.join('\n')).join('\n\n')
}

function rowOf(setting: Setting): string {
  const { env, default: text, default_text, details } = setting
  const isCode = default_text !== null || /^\S+[:/]\S+$/.test(text ?? '')
  const shown = isCode ? `\`${text}\`` : (text ?? 'none')
  return `| \`${env}\` | ${typeOf(setting)} | ${shown} | ${details} |`
}

function typeOf({ type, choices, min, max }: Setting): string {
  if (choices) return choices.map((choice) => `\`${choice}\``).join(', ')
  const { shown } = SETTING_TYPES[type]
  return max === null ? shown : `${shown}, ${min ?? 1} to ${max}`
}
