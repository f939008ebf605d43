import { maskedText } from './masked.ts'
import type { Setting } from './table.ts'

/** Where the value of a setting comes from. */
export type SettingSource = 'environment' | 'file' | 'default'

/** A setting with its value, for people. Secrets are masked. */
export interface ShownSetting {
  key: string
  env: string
  value: string | null
  source: SettingSource
  is_secret: boolean
}

/** The value of a setting and its source. `origins`: the variables that another source than the environment sets. */
export function shownSetting(
  setting: Setting,
  {
    env,
    origins,
  }: {
    env: Readonly<Record<string, string | undefined>>
    origins?: ReadonlyMap<string, string> | undefined
  },
): ShownSetting {
  const text = env[setting.env]?.trim() || null
  const source = text === null ? 'default' : origins?.has(setting.env) ? 'file' : 'environment'
  const value = text === null ? setting.default : maskedText(setting, text)
  return { key: setting.key, env: setting.env, value, source, is_secret: setting.is_secret }
}
