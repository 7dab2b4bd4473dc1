import { haveLongPatience } from './patience'

// Before each file of tests (bunfig.toml).
haveLongPatience()
