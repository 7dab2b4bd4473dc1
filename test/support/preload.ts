import { haveLongPatience } from './patience'

// Loaded before each test file (bunfig.toml).
haveLongPatience()
