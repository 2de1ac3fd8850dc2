"""The guided tour on paper."""
