export { holdsSecret, maskedKey, maskedText } from './masked.ts'
export { type SettingSource, type ShownSetting, shownSetting } from './shown.ts'
/** The settings of the service as a table, without the code that reads them. */
export {
  SETTING_GROUPS,
  SETTINGS,
  type Setting,
  type SettingGroup,
  type SettingKind,
  type SettingType,
} from './table.ts'
