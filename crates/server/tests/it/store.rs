//! The contract of the store: the same tests against a `SQLite` file, a database in memory and
//! `PostgreSQL`. Every backend must pass all of them; none is skipped.

mod clients;
mod endings;
mod keys;
mod maintenance;
mod opening;
mod outage;
mod people;
mod place;
mod races;
mod tokens;

use people::{consents, families, family_races, properties, sessions, shortlived, users};

/// Runs each test against each backend.
macro_rules! contract {
    ($($room:ident { $($name:ident)* })*) => {
        mod sqlite { $( mod $room { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::super::$room::$name(super::super::place::Place::sqlite()).await;
            }
        )* } )* }
        mod memory { $( mod $room { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::super::$room::$name(super::super::place::Place::memory()).await;
            }
        )* } )* }
        mod postgres { $( mod $room { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let place = super::super::place::Place::postgres().await;
                super::super::$room::$name(place).await;
            }
        )* } )* }
    };
}

contract! {
    clients {
        every_field_of_a_client_survives
        an_id_is_taken_once
        the_same_attempt_finds_what_it_created
        an_update_names_the_version_that_it_read
        a_change_that_ends_tokens_raises_the_generation
        a_client_that_comes_back_has_a_higher_generation
        lists_are_pages_by_id
        lists_can_be_filtered
    }
    tokens {
        every_field_of_a_token_survives
        a_locator_is_taken_once
        an_id_with_other_random_bits_finds_nothing
        tokens_of_a_client_are_listed_in_pages
        one_token_is_live_for_a_kind_of_request
        an_assertion_is_used_once
        an_expired_assertion_is_refused_by_database_time
    }
    endings {
        what_has_ended_is_logged_once
        an_end_can_be_moved_only_outwards
        the_state_is_what_was_written
        rows_of_the_log_carry_their_marks
        an_event_of_a_newer_program_reads_as_clear_all
    }
    keys {
        keys_survive_and_announce_themselves
        a_slot_is_filled_once
        the_cluster_key_is_remembered
        node_numbers_differ
        a_lease_has_one_holder
        settings_are_overwritten
        the_database_has_a_clock
    }
    races {
        one_of_a_hundred_uses_wins
        one_update_of_each_version_is_done
        one_live_token_of_many_is_stored
        positions_have_no_gaps
        one_that_fails_does_not_fail_the_others
        a_full_queue_is_busy_at_once
    }
    maintenance {
        expired_rows_vanish_and_the_rest_stays
        the_log_keeps_its_tail_and_its_head
        a_closed_store_is_unavailable
        reading_counts_its_statements
    }
    users {
        every_field_of_a_user_survives
        an_id_and_a_name_are_taken_once
        an_update_of_a_user_names_the_version_that_it_read
        a_change_ends_what_it_says
        a_deleted_user_leaves_nothing_and_comes_back_higher
        an_import_can_be_run_again
        users_are_searched_by_prefix_in_pages
    }
    sessions {
        every_field_of_a_session_survives
        an_ended_session_is_gone_and_its_clients_are_known
        a_login_is_one_durable_write
    }
    consents {
        a_consent_takes_the_place_of_the_one_before
        a_withdrawn_consent_ends_the_families_of_its_client
    }
    families {
        every_field_of_a_family_survives
        a_code_is_redeemed_once_with_all_that_comes_of_it
        a_burned_code_leaves_nothing
        an_expired_code_is_refused_by_database_time
        a_family_rotates_from_its_generation_only
        a_rotation_writes_its_token_where_it_wins
        a_token_whose_place_is_taken_gets_another_one
        an_ended_family_neither_rotates_nor_comes_back
    }
    family_races {
        one_of_a_thousand_rotations_wins
        one_of_a_hundred_redemptions_wins
        many_families_rotate_at_once
        families_that_end_while_they_rotate_stay_ended
    }
    shortlived {
        failures_are_counted_for_a_window_after_the_last
        two_keys_in_one_place_are_never_mixed_up
        a_pushed_request_is_found_by_id_and_expiry
        everything_about_people_expires
        a_slice_takes_a_bounded_number_of_rows
    }
    properties {
        rows_about_people_survive
    }
}
